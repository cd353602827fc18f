//! Lines of texts and logs: reading them, masking their variable parts, gathering lines of one pattern.

pub(crate) mod mask;
pub(crate) mod reader;
pub(crate) mod stamp;
pub(crate) mod templates;
