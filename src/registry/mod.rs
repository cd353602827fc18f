//! OCI registries: which digest a tag has, and pushing an image that lies on disk as an OCI image layout.

mod client;
mod credentials;
mod error;
mod installed;
mod layout;

pub use client::{Access, Existing, Image, Pushed, Registry};
pub use credentials::{Credentials, CredentialsError};
pub use error::RegistryError;
pub use installed::read_installed;
pub use layout::{Layout, LayoutError, Limits};
