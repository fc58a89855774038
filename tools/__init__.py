"""Programs for developers: fuzzing, mutation, golden releases, language."""
