"""The modes of a thread, their switches, and the generator of random numbers."""
