"""Functions whose derivative the user writes: `autograd.Function`, its context, and custom derivatives."""
