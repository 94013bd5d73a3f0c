"""From the steps of a recording to a program that runs: buffers, instructions, regions, memory."""
