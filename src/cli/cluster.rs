//! Parts that the commands which ask a cluster share: the connection, and the meaning of its refusals.

use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource};

use super::args::{ClusterArgs, question_name};
use super::command::CommandError;
use codegen_api::{CodeGenTask, Namespaced};
use codegen_core::causes::with_causes;
use codegen_ledger::StoreError;

/// Objects of one page of a list.
// A task may have some 100 KiB.
const PAGE: u32 = 50;

/// One namespace of a cluster.
pub(super) struct Cluster {
    pub client: Client,
    pub namespace: String,
}

impl Cluster {
    /// Connects as kubectl would.
    pub async fn connect(args: &ClusterArgs) -> Result<Self, CommandError> {
        let config = config(args).await?;
        let namespace = args
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config)
            .map_err(|error| CommandError::usage(format!("cannot speak to the cluster: {error}")))?;
        Ok(Self { client, namespace })
    }

    /// The objects of a kind in its namespace.
    pub fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The objects of a kind in its namespace or in all, those with such labels.
    pub async fn list<K: Namespaced>(
        &self,
        all_namespaces: bool,
        selector: Option<&str>,
    ) -> Result<Vec<K>, CommandError> {
        let api: Api<K> = if all_namespaces {
            Api::all(self.client.clone())
        } else {
            self.api()
        };
        let mut which = ListParams::default().limit(PAGE);
        which.label_selector = selector.map(str::to_owned);
        let mut all = Vec::new();
        loop {
            let page = api.list(&which).await;
            let page = page.map_err(|error| self.refused::<K>(&error, ""))?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => which.continue_token = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// The object `name` of a kind.
    pub async fn get<K: Namespaced>(&self, name: &str) -> Result<K, CommandError> {
        let found = self.api().get(name).await;
        found.map_err(|error| self.refused::<K>(&error, name))
    }

    /// The task `name`.
    pub async fn task(&self, name: &str) -> Result<CodeGenTask, CommandError> {
        refuse_question(name)?;
        self.get(name).await
    }

    /// Says what an answer other than the object `name` of a kind means; the name is empty where many were asked for.
    pub fn refused<K: Resource<DynamicType = ()>>(&self, error: &kube::Error, name: &str) -> CommandError {
        CommandError::usage(refusal::<K>(error, name, &self.namespace))
    }
}

/// Refuses the name of a question where a task is meant.
pub(super) fn refuse_question(name: &str) -> Result<(), CommandError> {
    let Some(question) = question_name(name) else {
        return Ok(());
    };
    Err(CommandError::usage(format!(
        "{question} is a question, and this is about tasks: watch, code, logs, cost and export take questions"
    )))
}

async fn config(args: &ClusterArgs) -> Result<Config, CommandError> {
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let unusable = |error| CommandError::usage(format!("cannot use the kubeconfig: {error}"));
    if let Some(file) = &args.kubeconfig {
        let file = Kubeconfig::read_from(file).map_err(unusable)?;
        let config = Config::from_custom_kubeconfig(file, &options).await;
        return config.map_err(unusable);
    }
    // `infer` would fall back to the service account of a Pod, which has no contexts.
    if args.context.is_some() {
        return Config::from_kubeconfig(&options).await.map_err(unusable);
    }
    Config::infer().await.map_err(|error| {
        CommandError::usage(format!(
            "there is no cluster to ask: {error}; name a kubeconfig with --kubeconfig or KUBECONFIG, or a result (codegen-out/NAME)"
        ))
    })
}

/// Says what an answer other than the object `name` of a kind means, and what to do; the name is empty where many were asked for.
fn refusal<K: Resource<DynamicType = ()>>(error: &kube::Error, name: &str, namespace: &str) -> String {
    let kind = K::kind(&());
    let names = |what: &str| matches!(error, kube::Error::Api(status) if status.message.contains(what));
    match error {
        kube::Error::Api(status) if status.code == 404 && names(&format!("namespaces \"{namespace}\"")) => {
            format!("there is no namespace {namespace}: is it this context?")
        }
        // The API server names the object only where it knows the kind.
        kube::Error::Api(status) if status.code == 404 && names(&format!("\"{name}\"")) => {
            let plural = K::plural(&());
            format!(
                "there is no {kind} {name} in namespace {namespace}: kubectl get {plural} -A lists those that there are"
            )
        }
        kube::Error::Api(status) if status.code == 404 => format!(
            "the cluster does not know {kind}s: is the operator installed there, and is it this context?"
        ),
        kube::Error::Api(status) if status.code == 401 || status.is_forbidden() => {
            format!("the cluster refuses: {}", status.message)
        }
        error => format!("the cluster cannot be asked: {}", with_causes(error)),
    }
}

/// Says why what a task left cannot be read, and what to do.
pub(super) fn unreadable(error: &StoreError) -> String {
    let message = with_causes(error);
    if is_forbidden(error) {
        return format!(
            "{message}; what a task left may hold data, so it is a Secret, which you may not read"
        );
    }
    message
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::usage(unreadable(&error))
    }
}

/// Reports whether the cluster has refused a request for want of a right.
pub(super) fn is_forbidden(error: &StoreError) -> bool {
    let StoreError::Remote { source, .. } = error else {
        return false;
    };
    let source: &(dyn std::error::Error + 'static) = source.as_ref();
    matches!(source.downcast_ref(), Some(kube::Error::Api(status)) if status.is_forbidden())
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use codegen_api::CodeGenRun;

    fn answer(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        }))
    }

    #[test]
    fn a_missing_object_and_a_cluster_without_its_kind_have_different_messages() {
        let absent = answer(404, "codegentasks.codegen-operator.dev \"a\" not found");
        let message = refusal::<CodeGenTask>(&absent, "a", "data");
        assert!(
            message.contains("no CodeGenTask a in namespace data: kubectl get codegentasks -A"),
            "{message}"
        );
        let unknown = answer(404, "404 page not found");
        let message = refusal::<CodeGenRun>(&unknown, "", "data");
        assert!(
            message.contains("does not know CodeGenRuns: is the operator installed"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_namespace_is_named() {
        let absent = answer(404, "namespaces \"data\" not found");
        let message = refusal::<CodeGenRun>(&absent, "a", "data");
        assert_eq!(message, "there is no namespace data: is it this context?");
    }

    #[test]
    fn a_refusal_is_shown_in_the_words_of_the_cluster() {
        let message = refusal::<CodeGenTask>(&answer(401, "Unauthorized"), "a", "data");
        assert_eq!(message, "the cluster refuses: Unauthorized");
    }
}
