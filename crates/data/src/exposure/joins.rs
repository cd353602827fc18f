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
    pub fn new(mut joins: Vec<JoinProfile>, profiles: &[SampleProfile], level: Exposure) -> Self {
        match level {
            Exposure::SchemaOnly => joins.clear(),
            Exposure::Statistics | Exposure::RedactedRows => {
                joins.retain_mut(|join| reduce(join, profiles).is_some());
            }
            Exposure::Rows => {}
        }
        Self(joins)
    }

    /// Returns the joins that may be shown.
    #[must_use]
    pub fn get(&self) -> &[JoinProfile] {
        &self.0
    }
}

/// Reduces a join; `None` where it may not be shown.
fn reduce(join: &mut JoinProfile, profiles: &[SampleProfile]) -> Option<()> {
    let JoinProfile {
        left,
        right,
        is_estimated: _,
    } = join;
    for side in [left, right] {
        let JoinSide {
            sample,
            sheet,
            column,
            distinct: _,
            found,
            is_unique: _,
        } = side;
        let profile = profiles.iter().find(|profile| profile.name == *sample)?;
        let is_meant = |table: &&TableProfile| sheet.is_none() || table.sheet() == sheet.as_deref();
        let table = profile.tables().find(is_meant)?;
        *column = Names::of(table).shown_of(&table.columns, column)?;
        (*found >= FEWEST_ROWS).then_some(())?;
    }
    Some(())
}
