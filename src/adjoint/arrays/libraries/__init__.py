"""What each library of arrays has, under one set of names."""
