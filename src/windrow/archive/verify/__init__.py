"""What ``verify`` compares: files with their manifest, and the manifest with what it promises."""
