//! The record of a run that has ended, read from the Secrets that it is in.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use crate::controller::record::own;
use crate::controller::record::pack::{LARGEST_DOCUMENT, unpacked};
use crate::controller::record::parts::{LARGEST_PART, part_name};
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names;

/// Type of the Secrets that hold the archive of a finished task.
pub const RESULT_TYPE: &str = "codegen-operator.dev/result";
/// Key with every document and call of the run, packed JSON of names and base64.
pub const RECORD: &str = "record.json.gz";
/// Annotation with the number of Secrets that the record is in.
pub const PARTS: &str = "codegen-operator.dev/parts";

/// Most Secrets that a record is in: it unfolds to no more than a document may, and packing adds next to nothing.
const MOST_PARTS: u64 = LARGEST_DOCUMENT.div_ceil(LARGEST_PART as u64) + 1;

/// Every document that the result `name` holds.
pub async fn unpack(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    whole(client, namespace, name, None).await
}

/// Every document that the result `name` holds, where it is that of the object with this uid.
pub async fn unpack_of(
    client: &Client,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    whole(client, namespace, name, Some(uid)).await
}

async fn whole(
    client: &Client,
    namespace: &str,
    name: &str,
    uid: Option<&str>,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let object = format!("Secret {namespace}/{name}");
    let damaged = |detail: &str| StoreError::Damaged {
        name: object.clone(),
        detail: detail.to_owned(),
    };
    let first = part(client, namespace, name, uid).await?;
    let count = parts(&first).ok_or_else(|| {
        damaged(&format!(
            "its annotation {PARTS} is no number from 1 to {MOST_PARTS}, the most that the operator writes: somebody has changed it; see who may write such objects here, and run the task again"
        ))
    })?;
    let mut bytes = content(first).ok_or_else(|| damaged("the record of the run is gone"))?;
    for number in 1..count {
        let further = part(client, namespace, &part_name(name, number), uid).await?;
        bytes.extend(content(further).ok_or_else(|| damaged("a part of the record is gone"))?);
    }
    let json = unpacked(&bytes, LARGEST_DOCUMENT).map_err(|error| damaged(&error.to_string()))?;
    let record: BTreeMap<String, ByteString> =
        serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
    Ok(record.into_iter().map(|(name, bytes)| (name, bytes.0)).collect())
}

/// Returns the number of Secrets that the record is in; `None` where the operator writes no such number.
fn parts(first: &Secret) -> Option<usize> {
    let Some(count) = first.annotations().get(PARTS) else {
        return Some(1);
    };
    let count = count
        .parse()
        .ok()
        .filter(|count| (1..=MOST_PARTS).contains(count));
    count.and_then(|count| usize::try_from(count).ok())
}

async fn part(client: &Client, namespace: &str, name: &str, uid: Option<&str>) -> Result<Secret, StoreError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get(name).await.map_err(|error| StoreError::Remote {
        action: format!("read the Secret {namespace}/{name}, which holds the record of the run"),
        source: Box::new(error),
    })?;
    let size = found.data.iter().flatten().map(|(_, bytes)| bytes.0.len());
    let is_of = |uid| found.labels().get(names::TASK_UID).map(String::as_str) == Some(uid);
    if own::is_own(&found, RESULT_TYPE) && uid.is_none_or(is_of) && size.sum::<usize>() <= LARGEST_PART {
        Ok(found)
    } else {
        Err(own::replaced(format!("Secret {namespace}/{name}")))
    }
}

fn content(secret: Secret) -> Option<Vec<u8>> {
    Some(secret.data?.remove(RECORD)?.0)
}

#[cfg(test)]
mod tests {
    use kube::Config;
    use rstest::rstest;
    use serde_json::{Value, json};
    use wiremock::matchers::method;
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;
    use crate::controller::record::pack::pack;

    /// A Secret as the operator writes it.
    fn secret(name: &str, parts: &str, bytes: Vec<u8>) -> Value {
        let labels = json!({"app.kubernetes.io/managed-by": "codegen-operator", "codegen-operator.dev/component": "result"});
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": RESULT_TYPE, "immutable": true,
            "metadata": {"name": name, "labels": labels, "annotations": {PARTS: parts}},
            "data": {RECORD: ByteString(bytes)},
        })
    }

    /// An API server that has a Secret by every name, cut from one record.
    async fn cluster(parts: String, record: Vec<u8>, size: usize) -> (MockServer, Client) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = MockServer::start().await;
        let answer = move |request: &Request| {
            let name = request.url.path().rsplit('/').next().unwrap_or_default();
            let number = name
                .strip_prefix("r-")
                .map_or(0, |number| number.parse().unwrap());
            let part = record.chunks(size).nth(number).unwrap_or_default().to_vec();
            ResponseTemplate::new(200).set_body_json(secret(name, &parts, part))
        };
        Mock::given(method("GET"))
            .respond_with(answer)
            .mount(&server)
            .await;
        let client = Client::try_from(Config::new(server.uri().parse().unwrap())).unwrap();
        (server, client)
    }

    fn record() -> Vec<u8> {
        pack(&serde_json::to_vec(&json!({"documents/a": ByteString(b"b".to_vec())})).unwrap())
    }

    #[rstest]
    #[case::far_too_many("18446744073709551615")]
    #[case::one_too_many("75")]
    #[case::none("0")]
    #[case::no_number("many")]
    #[tokio::test]
    async fn a_record_in_more_parts_than_the_operator_writes_is_not_read(#[case] parts: &str) {
        let (server, client) = cluster(parts.to_owned(), record(), LARGEST_PART).await;
        let error = unpack(&client, "a", "r").await.unwrap_err().to_string();
        assert!(
            error.contains("Secret a/r") && error.contains("from 1 to 74"),
            "{error}"
        );
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_part_that_is_larger_than_the_operator_writes_is_anothers() {
        let (_server, client) = cluster("1".to_owned(), vec![0; LARGEST_PART + 1], 2 * LARGEST_PART).await;
        let error = unpack(&client, "a", "r").await.unwrap_err().to_string();
        assert!(
            error.contains("Secret a/r") && error.contains("somebody has replaced it"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_record_in_several_parts_is_read_whole() {
        let size = record().len().div_ceil(3);
        let (server, client) = cluster("3".to_owned(), record(), size).await;
        let documents = unpack(&client, "a", "r").await.unwrap();
        assert_eq!(
            documents,
            BTreeMap::from([("documents/a".to_owned(), b"b".to_vec())])
        );
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
    }
}
