//! The headers of tools, from Secrets whose owners allow it.

use crate::api::code_mode::ToolHeader;
use crate::api::secret_use::{SecretUse, check_tool_host};
use crate::local::credentials::tool_header;
use crate::local::objects::Objects;
use crate::model::Secret;
use crate::sources::find;

use super::error::AskError;

/// The headers that requests to `url` carry. `field` is that of the address.
pub(super) fn headers(
    wanted: &[ToolHeader],
    (field, url): (&str, &str),
    namespace: &str,
    objects: &Objects,
) -> Result<Vec<(String, Secret)>, AskError> {
    let header = |header: &ToolHeader| {
        let reference = &header.secret_key_ref;
        let of_header = format!("the header {} of {field}", header.name);
        let value = tool_header(reference, &of_header, namespace, objects)?;
        if let Some(secret) = find(&objects.secret_labels, namespace, &reference.name) {
            let allowed = SecretUse::Tool
                .check(secret)
                .and_then(|()| check_tool_host(&secret.metadata, field, url));
            allowed.map_err(|refusal| AskError::Secret {
                field: of_header,
                refusal: Box::new(refusal),
            })?;
        }
        Ok((header.name.clone(), value))
    };
    wanted.iter().map(header).collect()
}
