//! The task's settings above its agent's: where both give a field, the task's holds.

use codegen_api::approval::Gate;
use codegen_api::common::{Backend, CacheMode, Exposure, Testing};
use codegen_api::image::Image;
use codegen_api::limits::Limits;
use codegen_api::model::{Escalation, Model};
use codegen_api::packages::PackageRules;
use codegen_api::sandbox::Sandbox;
use codegen_api::{CodeGenAgent, CodeGenTaskSpec};

use super::errors::{Problem, ResolveFaults};

/// The settings that a task and an agent have in common, as one of them gives them.
#[derive(Default)]
pub(super) struct SettingsLayer<'a> {
    /// The agent's name; `None` for the task itself.
    agent: Option<&'a str>,
    pub(super) model: Option<&'a Model>,
    pub(super) escalation: &'a [Escalation],
    pub(super) system_prompt: Option<&'a String>,
    pub(super) image: Option<&'a Image>,
    pub(super) packages: Option<&'a PackageRules>,
    pub(super) sandbox: Option<&'a Sandbox>,
    pub(super) limits: Option<&'a Limits>,
    pub(super) testing: Option<&'a Testing>,
    pub(super) backend: Option<Backend>,
    pub(super) cache: Option<CacheMode>,
    pub(super) approvals: &'a [Gate],
    pub(super) max_sample_rows: Option<i32>,
    pub(super) exposure: Option<Exposure>,
}

impl<'a> SettingsLayer<'a> {
    fn task(spec: &'a CodeGenTaskSpec) -> Self {
        Self {
            agent: None,
            model: spec.model.as_ref(),
            escalation: &spec.escalation,
            system_prompt: spec.system_prompt.as_ref(),
            image: spec.image.as_ref(),
            packages: spec.packages.as_ref(),
            sandbox: spec.sandbox.as_ref(),
            limits: spec.limits.as_ref(),
            testing: spec.testing.as_ref(),
            backend: spec.backend,
            cache: spec.cache,
            approvals: &spec.approvals,
            max_sample_rows: spec.max_sample_rows,
            exposure: spec.exposure,
        }
    }

    fn agent(agent: &'a CodeGenAgent) -> Self {
        let spec = &agent.spec;
        Self {
            agent: Some(agent.metadata.name.as_deref().unwrap_or_default()),
            model: spec.model.as_ref(),
            escalation: &spec.escalation,
            system_prompt: spec.system_prompt.as_ref(),
            image: spec.image.as_ref(),
            packages: spec.packages.as_ref(),
            sandbox: spec.sandbox.as_ref(),
            limits: spec.limits.as_ref(),
            testing: spec.testing.as_ref(),
            backend: spec.backend,
            cache: spec.cache,
            approvals: &spec.approvals,
            max_sample_rows: spec.max_sample_rows,
            exposure: spec.exposure,
        }
    }

    /// Returns the path of a field of this layer (`CodeGenAgent shared: spec.limits.deadline`).
    pub(super) fn path(&self, field: &str) -> String {
        match self.agent {
            Some(agent) => format!("CodeGenAgent {agent}: spec.{field}"),
            None => format!("spec.{field}"),
        }
    }
}

/// The layers, the one that holds first.
pub(super) struct Layers<'a>(Vec<SettingsLayer<'a>>);

impl<'a> Layers<'a> {
    pub(super) fn new(spec: &'a CodeGenTaskSpec, agent: Option<&'a CodeGenAgent>) -> Self {
        Self(
            std::iter::once(SettingsLayer::task(spec))
                .chain(agent.map(SettingsLayer::agent))
                .collect(),
        )
    }

    /// The sandbox of a run alone.
    pub(super) fn of_sandbox(sandbox: &'a Sandbox) -> Self {
        Self(vec![SettingsLayer {
            sandbox: Some(sandbox),
            ..SettingsLayer::default()
        }])
    }

    /// The value that holds, with its layer.
    pub(super) fn find<T>(
        &self,
        field: impl Fn(&SettingsLayer<'a>) -> Option<T>,
    ) -> Option<(&SettingsLayer<'a>, T)> {
        self.0
            .iter()
            .find_map(|layer| field(layer).map(|value| (layer, value)))
    }

    /// The value that holds.
    pub(super) fn first<T>(&self, field: impl Fn(&SettingsLayer<'a>) -> Option<T>) -> Option<T> {
        self.find(field).map(|(_, value)| value)
    }

    /// The models of all layers, the one that holds first.
    pub(super) fn models(&self) -> impl Iterator<Item = &'a Model> + Clone {
        self.0.iter().filter_map(|layer| layer.model)
    }

    /// The values of all layers together.
    pub(super) fn all<T: 'a>(
        &self,
        field: impl Fn(&SettingsLayer<'a>) -> &'a [T],
    ) -> impl Iterator<Item = &'a T> {
        self.0.iter().flat_map(field)
    }

    /// The text that holds, or the default, with its path.
    pub(super) fn text(
        &self,
        name: &str,
        default: &'static str,
        field: impl Fn(&SettingsLayer<'a>) -> Option<&'a str>,
    ) -> (String, &'a str) {
        self.find(field).map_or_else(
            || (format!("spec.{name}"), default),
            |(layer, text)| (layer.path(name), text),
        )
    }

    /// The number that holds, between `least` and `most`.
    pub(super) fn number<T: TryFrom<i64>>(
        &self,
        name: &str,
        least: i64,
        most: i64,
        field: impl Fn(&SettingsLayer<'a>) -> Option<i64>,
        faults: &mut ResolveFaults,
    ) -> Option<T> {
        let (layer, given) = self.find(field)?;
        let number = T::try_from(given)
            .ok()
            .filter(|_| (least..=most).contains(&given));
        if number.is_none() {
            faults.add(layer.path(name), Problem::OutOfRange { given, least, most });
        }
        number
    }
}
