"""What a page still says once it is an image: reading pages back from their pixels."""
