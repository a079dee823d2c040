"""Result files: hidden while they are written, published by a commit that names them, read back."""
