//! The interpreter's values as JSON and as text, both bounded.

mod decode;
mod encode;
mod iso;
mod text;

pub(crate) use decode::{DecodedValue, NO_ROOM};
pub(crate) use encode::{Encoded, UnencodableValue, encodable};
pub(crate) use text::{cut, cut_of, str_of};
