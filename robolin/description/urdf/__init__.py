"""URDF text, and objects that urdfpy or urchin loaded, as descriptions."""
