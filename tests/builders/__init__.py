"""Tables, plans and models that several test modules use."""
