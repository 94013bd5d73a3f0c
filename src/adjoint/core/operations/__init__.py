"""Operations: arguments are bound, a kernel runs, the call is recorded."""
