"""Virtual environments of other systems, one for each requirements file, and scripts that run in some of them."""
