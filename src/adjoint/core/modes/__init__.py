"""The modes of a thread, what they switch on, and the generator of random numbers."""
