"""From an arm to its controller: linear models, their poles, gains, and what they achieve."""
