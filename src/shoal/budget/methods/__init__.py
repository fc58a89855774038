"""Methods that release under a budget: population and sampled grids."""

from shoal.budget.methods.grids import PopulationGrid, SampledGrid

__all__ = ["PopulationGrid", "SampledGrid"]
