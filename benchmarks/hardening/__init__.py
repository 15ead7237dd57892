"""How files that were damaged, or made to do harm, are met: by abound and by formats that others trust."""
