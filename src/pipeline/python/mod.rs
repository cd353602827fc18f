//! Python source, read by its syntax tree.
