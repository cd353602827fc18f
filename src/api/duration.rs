//! Durations and quantities as Kubernetes writes them.
