//! Status of the image that the program is to be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::conditions::ConditionStamp;
use super::hold::Hold;
use super::state::TaskState;
use crate::progress::{Progress, PublishedImage};
use crate::publication;
use crate::stage::Stage;
use crate::task::Task;
use codegen_api::conditions::{PUBLISHED, reason};

/// Condition of the image that the program is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageShown {
    is_there: bool,
    reason: &'static str,
    message: String,
}

impl ImageShown {
    /// It is in its registry.
    #[must_use]
    pub fn there(image: &PublishedImage) -> Self {
        Self {
            is_there: true,
            reason: reason::PUSHED,
            message: format!("the program is at {}", image.tag),
        }
    }

    /// It is on its way there.
    #[must_use]
    pub fn on_its_way() -> Self {
        Self {
            is_there: false,
            reason: reason::PROGRESSING,
            message: "the program is being published".to_owned(),
        }
    }

    /// Something prevents it.
    #[must_use]
    pub fn held(hold: &Hold) -> Self {
        Self {
            is_there: false,
            reason: hold.reason,
            message: hold.message.clone(),
        }
    }

    /// Reports whether `conditions` say the same.
    #[must_use]
    pub fn is_said_by(&self, conditions: &[Condition]) -> bool {
        let of_image = conditions.iter().find(|said| said.type_ == PUBLISHED);
        of_image.is_some_and(|said| {
            (said.status.as_str(), said.reason.as_str(), &said.message)
                == (self.value(), self.reason, &self.message)
        })
    }

    const fn value(&self) -> &'static str {
        if self.is_there { "True" } else { "False" }
    }
}

/// Returns what is to be said of the program as an image, where one is asked for and the program has passed.
pub(super) fn published(task: &Task, progress: &Progress, state: &TaskState) -> Option<ImageShown> {
    task.publish.as_ref()?;
    match (progress.stage, &progress.published, &progress.waiting) {
        (Stage::Publishing, _, _) => Some(ImageShown {
            is_there: false,
            reason: state.reason,
            message: state.message.clone(),
        }),
        (Stage::Succeeded, Some(image), _) if publication::is_done(task.publish.as_ref(), progress) => {
            Some(ImageShown::there(image))
        }
        (Stage::Succeeded, _, Some(waiting)) => {
            let TaskState { reason, message, .. } = TaskState::waiting(waiting);
            Some(ImageShown {
                is_there: false,
                reason,
                message,
            })
        }
        (Stage::Succeeded, _, None) => Some(ImageShown::on_its_way()),
        _ => None,
    }
}

impl ConditionStamp<'_> {
    /// The condition that says it.
    pub(super) fn published(&self, shown: &ImageShown) -> Condition {
        self.condition(PUBLISHED, shown.value(), shown.reason, &shown.message)
    }
}
