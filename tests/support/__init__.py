"""What several tests share: samples of arguments, probes of functions, stand-ins for libraries, known answers."""
