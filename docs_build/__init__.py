"""Build the site: generated pages, formulas, pictures, link check and screenshots."""
