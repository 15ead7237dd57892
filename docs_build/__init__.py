"""What makes the site: its generated pages, formulas, pictures, link check and screenshots."""
