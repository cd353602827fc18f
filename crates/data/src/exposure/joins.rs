//! Columns on which samples may be joined.

use crate::exposure::Exposure;
use crate::joins::{JoinProfile, JoinSide};
use crate::profile::{SampleProfile, TableProfile};

use super::FEWEST_ROWS;
use super::names::Names;

/// Joins with no more in them than a level lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposedJoins(Vec<JoinProfile>);

impl ExposedJoins {
    /// Reduces the joins of samples. Below `Rows` a join is shown when at least five values of each side are found on the other.
    #[must_use]
    pub fn new(joins: Vec<JoinProfile>, profiles: &[SampleProfile], level: Exposure) -> Self {
        match level {
            Exposure::SchemaOnly => Self::default(),
            Exposure::Statistics | Exposure::RedactedRows => Self(
                joins
                    .into_iter()
                    .filter_map(|join| reduced(join, profiles))
                    .collect(),
            ),
            Exposure::Rows => Self(joins),
        }
    }

    /// Returns the joins that may be shown.
    #[must_use]
    pub fn get(&self) -> &[JoinProfile] {
        &self.0
    }
}

fn reduced(join: JoinProfile, profiles: &[SampleProfile]) -> Option<JoinProfile> {
    let JoinProfile {
        left,
        right,
        is_estimated,
    } = join;
    Some(JoinProfile {
        left: reduced_side(left, profiles)?,
        right: reduced_side(right, profiles)?,
        is_estimated,
    })
}

fn reduced_side(side: JoinSide, profiles: &[SampleProfile]) -> Option<JoinSide> {
    let JoinSide {
        sample,
        sheet,
        column,
        distinct,
        found,
        is_unique,
    } = side;
    let profile = profiles.iter().find(|profile| profile.name == sample)?;
    let is_meant = |table: &&TableProfile| sheet.is_none() || table.sheet() == sheet.as_deref();
    let of = profile.tables().find(is_meant)?;
    let column = Names::of(of).shown_of(&of.columns, &column)?;
    (found >= FEWEST_ROWS).then_some(JoinSide {
        sample,
        sheet,
        column,
        distinct,
        found,
        is_unique,
    })
}
