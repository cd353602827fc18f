//! What the commands that ask a cluster share: the connection, and what its refusals mean.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use super::answers::{Bounds, bounded};
use super::args::ClusterArgs;
use crate::api::{CodeGenRun, CodeGenTask};
use crate::ledger::StoreError;
use crate::pipeline::causes::with_causes;

/// The tasks of one namespace of a cluster.
pub(super) struct Cluster {
    pub client: Client,
    pub namespace: String,
}

impl Cluster {
    /// Connects as kubectl would.
    pub async fn connect(args: &ClusterArgs) -> Result<Self, String> {
        let config = config(args).await?;
        let namespace = args
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let client =
            Client::try_from(config).map_err(|error| format!("cannot speak to the cluster: {error}"))?;
        Ok(Self {
            // An answer without an end must neither fill the memory nor hold the command up.
            client: bounded(client, Bounds::default()),
            namespace,
        })
    }

    /// Its tasks.
    pub fn tasks(&self) -> Api<CodeGenTask> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Its runs.
    pub fn runs(&self) -> Api<CodeGenRun> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The task `name`.
    pub async fn task(&self, name: &str) -> Result<CodeGenTask, String> {
        self.tasks()
            .get(name)
            .await
            .map_err(|error| refusal(&error, name, &self.namespace))
    }
}

async fn config(args: &ClusterArgs) -> Result<Config, String> {
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let unusable = |error: &dyn std::fmt::Display| format!("cannot use the kubeconfig: {error}");
    if let Some(file) = &args.kubeconfig {
        let file = Kubeconfig::read_from(file).map_err(|error| unusable(&error))?;
        return Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(|error| unusable(&error));
    }
    // `infer` would fall back to the service account of a Pod, which has no contexts.
    if args.context.is_some() {
        return Config::from_kubeconfig(&options)
            .await
            .map_err(|error| unusable(&error));
    }
    Config::infer().await.map_err(|error| {
        format!("there is no cluster to ask: {error}; name a kubeconfig with --kubeconfig or KUBECONFIG")
    })
}

/// What an answer other than the task means, and what to do.
pub(super) fn refusal(error: &kube::Error, name: &str, namespace: &str) -> String {
    match error {
        // The API server names the object only where it knows the kind.
        kube::Error::Api(status) if status.code == 404 && status.message.contains(&format!("\"{name}\"")) => {
            format!(
                "there is no CodeGenTask {name} in namespace {namespace}: kubectl get codegentasks -A lists those that there are"
            )
        }
        kube::Error::Api(status) if status.code == 404 => {
            "the cluster does not know CodeGenTasks: is the operator installed there, and is it this context?"
                .to_owned()
        }
        kube::Error::Api(status) if status.code == 401 || status.is_forbidden() => {
            format!("the cluster refuses: {}", status.message)
        }
        error => format!("the cluster cannot be asked: {}", with_causes(error)),
    }
}

/// Why what a task left cannot be read, and what to do.
pub(super) fn unreadable(error: &StoreError) -> String {
    let is_forbidden = |source: &(dyn std::error::Error + 'static)| matches!(source.downcast_ref(), Some(kube::Error::Api(status)) if status.is_forbidden());
    let told = with_causes(error);
    match error {
        StoreError::Remote { source, .. } if is_forbidden(source.as_ref()) => {
            format!("{told}; what a task left may hold data, so it is a Secret, which you may not read")
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answer(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        }))
    }

    #[test]
    fn a_missing_task_and_a_cluster_without_the_operator_have_different_messages() {
        let absent = answer(404, "codegentasks.codegen-operator.dev \"a\" not found");
        assert!(refusal(&absent, "a", "data").contains("no CodeGenTask a in namespace data"));
        let unknown = answer(404, "404 page not found");
        assert!(refusal(&unknown, "a", "data").contains("is the operator installed"));
    }

    #[test]
    fn a_refusal_is_shown_in_the_words_of_the_cluster() {
        let told = refusal(&answer(401, "Unauthorized"), "a", "data");
        assert_eq!(told, "the cluster refuses: Unauthorized");
    }
}
