"""One page about an arm and its motion that opens by itself: drawn, plotted and told."""
