//! Makes a task ready for the engine: lock the folder, freeze the sources, answer the open questions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::client;
use super::credentials::{ModelCredentials, sandbox_variables};
use super::error::{TaskError, stopped};
use super::folder::{RevisionFolder, TASK, TaskFolder};
use super::freeze::{DownloadAccess, freeze};
use super::objects::Objects;
use super::options::{ModelOverrides, TaskOptions};
use codegen_api::model::Model;
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_core::progress::Progress;
use codegen_core::sandbox::NetworkAccess;
use codegen_core::stage::Stage;
use codegen_core::task::{Task, resolve};
use codegen_egress::AllowedHost;
use codegen_ledger::Store as _;
use codegen_model::{NamedIn, Secret};
use codegen_sandbox::SandboxError;
use codegen_sandbox::local::system_packages::check;
use codegen_sources::{find, plan, renamed_text};

/// A task that is ready for the engine. Its folder is locked as long as this lives.
#[derive(Debug)]
pub struct Prepared {
    /// The task without open questions.
    pub task: Task,
    /// Folder for the results.
    pub folder: TaskFolder,
    /// Folder with the state of this run.
    pub run: RevisionFolder,
    /// Credentials that are sent to each of its models beside requests; nothing when replies are replayed.
    pub credentials: Vec<ModelCredentials>,
    /// Variables of the sandbox from Secrets.
    pub secret_variables: BTreeMap<String, Secret>,
    /// Path to which the earlier run was moved, with `fresh`.
    pub set_aside: Option<PathBuf>,
    /// Another task whose results lie in the folder until these replace them.
    pub replaced: Option<String>,
    /// The revision of the task that ran before this one, where it is this user's and another.
    pub former: Option<RevisionFolder>,
    /// Names of the fields that were changed since that one.
    pub changed: Vec<String>,
    /// True where somebody paused the task.
    pub is_suspended: bool,
}

/// Locks the folder, freezes what the task refers to and answers its open questions.
pub async fn prepare(
    object: &CodeGenTask,
    objects: &Objects,
    options: &TaskOptions,
    output: &Path,
) -> Result<Prepared, TaskError> {
    let mut object = object.clone();
    // A laptop may have no registry, and whoever asks for an image asks a cluster; the command says so.
    object.spec.publish = None;
    let mut agent = agent_of(&object, objects)?.cloned();
    options.model.apply(&mut object, agent.as_mut());
    let sources = plan(&object, &objects.config_maps, &options.given)?;
    let name = object.metadata.name.as_deref().unwrap_or_default();
    // The lock first: two commands must not freeze into one folder.
    let mut folder = TaskFolder::open(output, &format!("kubectl-codegen local, task {name},"))?;
    // Copies into a staging folder, for the revision has no name before its inputs have digests.
    let staging = folder.staging()?;
    let frozen = freeze(&sources, &staging, &downloads(&options.allowed_hosts)).await?;
    let task = resolve(&object, agent.as_ref(), frozen).map_err(TaskError::Unresolved)?;
    // Said before a call is paid for.
    if matches!(task.sandbox.network, NetworkAccess::List(_)) {
        return Err(TaskError::Sandbox(SandboxError::NetworkList));
    }
    let hash = task.decisive_hash();
    // What begins anew reads nothing of it.
    if !options.starts_over() {
        folder.check_origin(&hash, &options.trust).await?;
    }
    // What sends nothing asks for nothing.
    let starts_over = options.starts_over() || options.retry.is_some();
    let is_over = !starts_over && has_succeeded(&folder, &hash).await?;
    if !is_over {
        // So is this: the environment, of which every task has these, is made after the first calls.
        check(&task.image.base_system_packages)
            .await
            .map_err(TaskError::Sandbox)?;
    }
    let sends_nothing = options.replay.is_some() || is_over;
    let mut credentials = Vec::new();
    for model in task.models().filter(|_| !sends_nothing) {
        credentials.push(client::credentials(model, &task.namespace, objects, options).await?);
    }
    let secret_variables = sandbox_variables(&task.sandbox.secrets, &task.namespace, objects)?;
    // Writes, after everything that may be refused.
    let set_aside = if options.starts_over() {
        folder.set_aside(&hash)?
    } else {
        None
    };
    let former = former(&folder)?;
    let run = folder.revision(&hash, &staging)?;
    // Plain data with string keys: writing it to memory cannot fail.
    run.write(TASK, &serde_json::to_vec(&task).unwrap_or_default())?;
    let (other, former): (Vec<_>, Vec<_>) =
        former.into_iter().partition(|(other, _)| other.name != task.name);
    let replaced = other.into_iter().next().map(|(other, _)| other.name);
    let former = former
        .into_iter()
        .find(|(former, _)| former.decisive_hash() != hash);
    let changed = former.as_ref().map(|(former, _)| task.changes_since(former));
    Ok(Prepared {
        former: former.map(|(_, revision)| revision),
        changed: changed.unwrap_or_default(),
        task,
        folder,
        run,
        credentials,
        secret_variables,
        set_aside,
        replaced,
        is_suspended: object.spec.suspend == Some(true),
    })
}

/// The revision that the folder was last used for, with its task.
fn former(folder: &TaskFolder) -> Result<Option<(Task, RevisionFolder)>, TaskError> {
    let Some(latest) = RevisionFolder::latest(folder.root())? else {
        return Ok(None);
    };
    // What cannot be read says nothing, and is replaced.
    let recorded = if latest.is_foreign() {
        None
    } else {
        latest.task().ok().flatten()
    };
    Ok(recorded.map(|task| (task, latest)))
}

/// Reports whether an earlier command brought the revision to its end, so that no call is left. A record that cannot be read is the
/// engine's to report.
async fn has_succeeded(folder: &TaskFolder, hash: &str) -> Result<bool, TaskError> {
    let Some(run) = folder.existing(hash)? else {
        return Ok(false);
    };
    let store = run.existing_store();
    let progress: Option<Progress> = store.load().await.map_err(stopped)?;
    Ok(progress.is_some_and(|progress| progress.stage == Stage::Succeeded))
}

/// The agent that the task names.
pub(super) fn agent_of<'a>(
    task: &CodeGenTask,
    objects: &'a Objects,
) -> Result<Option<&'a CodeGenAgent>, TaskError> {
    let Some(wanted) = &task.spec.agent_ref else {
        return Ok(None);
    };
    let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
    match find(&objects.agents, namespace, &wanted.name) {
        Some(agent) => Ok(Some(agent)),
        None => Err(TaskError::NoAgent {
            name: wanted.name.clone(),
            renamed: renamed_text(&objects.agents, namespace, &wanted.name),
        }),
    }
}

impl ModelOverrides {
    /// Returns the places where address and name of the model are set.
    pub fn named_in(&self) -> NamedIn {
        let usual = NamedIn::default();
        let of_flag = |flag: Option<&'static str>, usual| flag.unwrap_or(usual);
        NamedIn {
            address: of_flag(self.base_url.as_ref().map(|_| "--model-url"), usual.address),
            model: of_flag(self.name.as_ref().map(|_| "--model"), usual.model),
        }
    }

    fn apply(&self, task: &mut CodeGenTask, mut agent: Option<&mut CodeGenAgent>) {
        if *self == Self::default() {
            return;
        }
        // Whoever names a model on the command line means that one alone.
        if self.base_url.is_some() || self.name.is_some() || self.provider.is_some() {
            task.spec.escalation.clear();
            if let Some(agent) = &mut agent {
                agent.spec.escalation.clear();
            }
        }
        // The override goes into the task, whose fields take precedence over its agent's.
        let own = task.spec.model.get_or_insert_default();
        self.apply_to(own, agent.and_then(|agent| agent.spec.model.as_mut()));
    }

    /// Puts them in the place of the fields of `own`, which go before those of `shared`.
    pub(super) fn apply_to(&self, own: &mut Model, shared: Option<&mut Model>) {
        if let Some(provider) = self.provider {
            let before = own
                .provider
                .or_else(|| shared.as_ref()?.provider)
                .unwrap_or_default();
            if before != provider {
                for model in std::iter::once(&mut *own).chain(shared) {
                    // Headers and query may hold keys, which must not go to the other host.
                    *model = Model {
                        provider: model.provider,
                        name: model.name.take(),
                        ..Model::default()
                    };
                }
            }
            own.provider = Some(provider);
        }
        if let Some(name) = &self.name {
            own.name = Some(name.clone());
        }
        if let Some(base_url) = &self.base_url {
            own.base_url = Some(base_url.clone());
        }
    }
}

/// Downloads are kept by digest in the user's cache folder; without a home in the folder for temporary files.
pub(crate) fn downloads(opened: &[AllowedHost]) -> DownloadAccess {
    use etcetera::BaseStrategy as _;
    let cache = etcetera::choose_base_strategy()
        .map_or_else(|_| std::env::temp_dir(), |strategy| strategy.cache_dir())
        .join("codegen-operator")
        .join("downloads");
    DownloadAccess::new(cache, opened)
}

#[cfg(test)]
mod tests {
    use super::super::manifest::parse;
    use super::*;
    use codegen_api::model::Provider;

    const TASK: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec:\n  prompt: add\n  model: {name: m, apiKeySecretRef: {name: absent, key: k}}\n  samples: [{name: a, inline: \"x,y\\n1,2\\n\"}]\n";

    fn objects(text: &str) -> Objects {
        Objects::collect(parse("t.yaml", text).unwrap()).unwrap()
    }

    fn replaying() -> TaskOptions {
        TaskOptions {
            replay: Some(PathBuf::from("replies.jsonl")),
            ..TaskOptions::default()
        }
    }

    #[tokio::test]
    async fn a_task_is_frozen_into_the_revision_of_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(TASK);
        let prepared = prepare(&objects.tasks[0], &objects, &replaying(), folder.path())
            .await
            .unwrap();
        let hash = prepared.task.decisive_hash();
        assert!(
            prepared
                .run
                .root()
                .ends_with(Path::new(".runs").join(&hash[..12]))
        );
        assert_eq!(std::fs::read(prepared.run.input("a.csv")).unwrap(), b"x,y\n1,2\n");
        assert_eq!(prepared.task.samples[0].file_name, "a.csv");
        drop(prepared);
        let again = prepare(&objects.tasks[0], &objects, &replaying(), folder.path())
            .await
            .unwrap();
        assert_eq!(again.task.decisive_hash(), hash);
    }

    #[tokio::test]
    async fn a_fresh_start_moves_the_old_revision_aside() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(TASK);
        drop(
            prepare(&objects.tasks[0], &objects, &replaying(), folder.path())
                .await
                .unwrap(),
        );
        let fresh = TaskOptions {
            earlier: crate::local::options::EarlierResult::SetAside,
            ..replaying()
        };
        let prepared = prepare(&objects.tasks[0], &objects, &fresh, folder.path())
            .await
            .unwrap();
        assert!(prepared.set_aside.unwrap().join("inputs/a.csv").exists());
        assert!(prepared.run.input("a.csv").exists());
    }

    #[tokio::test]
    async fn a_folder_with_the_results_of_another_task_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let mut replaced = Vec::new();
        for text in [TASK, TASK, &TASK.replace("name: sum", "name: mean")] {
            let objects = objects(text);
            let prepared = prepare(&objects.tasks[0], &objects, &replaying(), folder.path())
                .await
                .unwrap();
            replaced.push(prepared.replaced.clone());
        }
        assert_eq!(replaced, [None, None, Some("sum".to_owned())]);
    }

    #[tokio::test]
    async fn another_endpoint_needs_no_secret_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(TASK);
        let model = ModelOverrides {
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            ..Default::default()
        };
        let options = TaskOptions {
            model,
            ..TaskOptions::default()
        };
        let prepared = prepare(&objects.tasks[0], &objects, &options, folder.path())
            .await
            .unwrap();
        assert_eq!(prepared.task.model.base_url, "http://127.0.0.1:1/v1");
    }

    #[tokio::test]
    async fn an_agent_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(&TASK.replace("prompt: add", "prompt: add\n  agentRef: {name: shared}"));
        let error = prepare(&objects.tasks[0], &objects, &replaying(), folder.path())
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("spec.agentRef refers to CodeGenAgent shared"),
            "{error}"
        );
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn another_provider_drops_all_that_belongs_to_the_first() {
        let mut task = objects(&TASK.replace("name: m,", "name: m, baseURL: 'https://api.openai.com/v1', headers: [{name: X-Key, value: k}], query: {key: k}, parameters: {seed: 1},"))
            .tasks
            .remove(0);
        let overrides = ModelOverrides {
            provider: Some(Provider::Anthropic),
            ..Default::default()
        };
        overrides.apply(&mut task, None);
        let model = task.spec.model.unwrap();
        let expected = Model {
            provider: Some(Provider::Anthropic),
            name: Some("m".to_owned()),
            ..Model::default()
        };
        assert_eq!(model, expected);
    }
}
