//! OCI registries: which digest a tag has, pushing an image that lies on disk as an OCI image layout, appending a layer to one that a
//! registry has, and what refers to an image.

mod append;
mod client;
mod credentials;
mod distribution;
mod environment;
mod error;
mod failure;
mod installed;
mod layer;
mod layout;
mod manifest;
mod referrer;
mod signature;
mod target;
mod token;
mod upload;
mod wire;

pub use append::InspectedImage;
pub use append::{Appended, Foundation};
pub use client::{Existing, Pushed, Registry, RegistryImage};
pub use credentials::Credentials;
pub use environment::{EnvironmentFinding, EnvironmentPlace, SignedEnvironment};
pub use error::RegistryError;
pub use installed::read_installed;
pub use layer::LayerEntry;
pub use layer::read_layer;
pub use layout::{ImageLayout, LayoutLimits};
pub use manifest::Addition;
pub use referrer::Referrer;
pub use signature::SigningKeys;
pub use target::Access;
