//! Publication of a program that has passed, as an image of its own.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Publication of a program that has passed as an image: the task's environment with one layer more. `{}` is enough, also after the task
/// has succeeded. Nothing of the samples and of Secrets is in it. Only in a cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Publish {
    /// Repository that the image goes to (`registry.example.com/team/penguins`), pushed with the credentials of
    /// `image.pushSecretRef`. Default: that of the task's environment, where nothing but the new layer is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("!self.contains('://') && !self.endsWith('/') && !self.contains('@')")
        .message("write the repository without a scheme, a digest and a / at its end, like registry.example.com/team/penguins"))]
    pub repository: Option<String>,
    /// Tag of the image (`v1`). It moves with what the task publishes; the image before keeps a tag of its own, and a tag that
    /// somebody else has given is not touched. With a dot it is a version (`v1.2`) or begins with the namespace and the dot. Default:
    /// namespace and name of the task, `<namespace>.<name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100), pattern(r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"))]
    #[x_kube(validation = Rule::new("!self.startsWith('codegen-env-') && !self.startsWith('sha256-')")
        .message("tags that begin with codegen-env- or sha256- are the operator's own: choose another one"))]
    pub tag: Option<String>,
}
