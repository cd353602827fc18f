//! Outputs that are too large for a report, on the claim that the run names: where they go, and what a Pod found there.

use std::collections::BTreeMap;

use super::frozen::FrozenRun;
use super::outputs::MOST_FILES;
use crate::controller::claims::{blocked, report_of};
use crate::controller::context::Context;
use crate::controller::error::ReconcileError;
use crate::controller::hold::unavailable;
use codegen_api::CodeGenRun;
use codegen_api::conditions::run_reason;
use codegen_api::run::OutputClaim;
use codegen_api::run_status::OutputOnClaim;
use codegen_api::values::Output;
use codegen_core::run::checks::Severities;
use codegen_core::run::{OutputPlace, OutputRoom, OutputsRead};
use codegen_core::sandbox::{OutputContent, PhaseReport};
use codegen_core::status::{Hold, Until};
use codegen_core::stored_outputs::{FoundOutput, OutputsAsked};
use codegen_sandbox::Progressing;
use codegen_sandbox::kubernetes::{ClaimOutputs, OutputFolder, Owner, ReadReport, ReadRequest, SourceReader};

/// Longest part of a run's name that a folder repeats: with a uid it is a file name still.
const LONGEST_NAME: usize = 200;

/// The folder that one execution of a run writes to: nothing else does.
pub fn folder(object: &CodeGenRun, claim: &OutputClaim, execution: i32) -> OutputFolder {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    let mut own = format!("{}-{uid}", &name[..name.floor_char_boundary(LONGEST_NAME)]);
    if execution > 0 {
        own = format!("{own}-{}", execution + 1);
    }
    let above = claim.path.as_deref().unwrap_or_default();
    // Whatever the spec says, the folder lies below the root of the claim.
    let above = above.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    OutputFolder {
        claim: claim.claim_name.clone(),
        path: above.chain([own.as_str()]).collect::<Vec<_>>().join("/"),
        fs_group: claim.fs_group,
    }
}

/// The outputs that are not in the report, and folders that have more files than a status names.
pub fn left_there<'a>(frozen: &'a FrozenRun, phase: &PhaseReport) -> Vec<&'a Output> {
    let files = |content: &OutputContent| match content {
        OutputContent::Dir(files) => files.len(),
        _ => 1,
    };
    let files: usize = phase.outputs.iter().map(|report| files(&report.content)).sum();
    let are_many = files > MOST_FILES;
    let is_large = |output: &&Output| {
        let mut reports = phase.outputs.iter();
        reports.any(|report| report.name == output.name && is_left(&report.content, are_many))
    };
    frozen.run.outputs.iter().filter(is_large).collect()
}

fn is_left(content: &OutputContent, are_many: bool) -> bool {
    match content {
        OutputContent::TooLarge(_) => true,
        OutputContent::Dir(_) => are_many,
        OutputContent::Missing | OutputContent::File(_) | OutputContent::NotAFile(_) => false,
    }
}

/// Returns the findings at these outputs, once the Pod has ended that reads them.
pub async fn read(
    context: &Context,
    owner: &Owner,
    frozen: &FrozenRun,
    folder: &OutputFolder,
    outputs: &[&Output],
) -> Result<Progressing<Vec<FoundOutput>>, ReconcileError> {
    let asked = OutputsAsked {
        outputs: outputs.iter().map(|output| (*output).clone()).collect(),
        checks: frozen.checks.clone(),
        severity: Severities::from(frozen.run.validation).outputs,
    };
    let request = ReadRequest::of_outputs(ClaimOutputs::of(folder.clone(), asked));
    // What is read lies on the claim alone.
    let none = BTreeMap::new();
    let sandbox = context.sandbox(&frozen.task, owner, &none);
    let reader = SourceReader::new(&sandbox, &request).map_err(|error| blocked(&error))?;
    let nothing = std::future::ready(Ok(()));
    let report = match Box::pin(report_of(&reader, nothing)).await?.done() {
        Ok(report) => report,
        Err(progress) => return Ok(progress),
    };
    match report {
        ReadReport::Outputs(found) if found.len() == outputs.len() => Ok(Progressing::Done(found)),
        _ => Err(unavailable("the outputs on the claim were not read as they were asked for").into()),
    }
}

/// Returns the hold of a run while its outputs are read.
pub fn reading() -> Hold {
    Hold {
        reason: run_reason::READING_OUTPUTS,
        message: "the program has ended, and its outputs on the claim are being read".to_owned(),
        until: Until::Room,
    }
}

/// Puts what was found on the claim in the place of what was too large for the report.
pub fn join(
    read: &mut OutputsRead,
    declared: &[Output],
    folder: &OutputFolder,
    found: Vec<(&Output, FoundOutput)>,
) {
    read.join(declared, found, |output, files| {
        OutputPlace::Claim(OutputOnClaim {
            claim_name: folder.claim.clone(),
            path: format!("{}/{}", folder.path, output.name),
            files: i64::try_from(files).unwrap_or(i64::MAX),
        })
    });
    read.room = OutputRoom::Claim;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codegen_core::run::TypedOutput;
    use codegen_core::verdict::OutputTooLarge;

    #[test]
    fn each_execution_of_each_run_has_a_folder_of_its_own_below_the_one_that_is_named() {
        let mut object: CodeGenRun = serde_json::from_value(json!({
            "metadata": {"name": "penguins-2027", "uid": "0b6c"},
            "spec": {"taskRef": {"name": "penguins"}},
        }))
        .unwrap();
        let mut claim = OutputClaim {
            claim_name: "results".to_owned(),
            ..OutputClaim::default()
        };
        assert_eq!(folder(&object, &claim, 0).path, "penguins-2027-0b6c");
        claim.path = Some("2027/./cleaned/".to_owned());
        assert_eq!(folder(&object, &claim, 0).path, "2027/cleaned/penguins-2027-0b6c");
        assert_eq!(
            folder(&object, &claim, 2).path,
            "2027/cleaned/penguins-2027-0b6c-3"
        );
        object.metadata.name = Some("n".repeat(253));
        assert!(folder(&object, &claim, 9).path.rsplit('/').next().unwrap().len() < 255);
    }

    #[test]
    fn what_is_on_the_claim_takes_its_declared_place() {
        let declared: Vec<Output> = serde_json::from_value(json!([
            {"name": "cleaned", "type": "File", "format": "CSV", "description": "d"},
            {"name": "rows", "type": "Int", "description": "d"},
            {"name": "pages", "type": "Dir", "description": "d"},
        ]))
        .unwrap();
        let large = |name: &str| OutputTooLarge {
            output: name.to_owned(),
            bytes: Some(5_000_000),
        };
        let mut read = OutputsRead {
            too_large: vec![large("cleaned"), large("pages")],
            outputs: TypedOutput::new(
                &declared[1],
                &OutputContent::File("Mw==".to_owned()),
                Some("3".to_owned()),
            )
            .into_iter()
            .collect(),
            ..OutputsRead::default()
        };
        let folder = OutputFolder {
            claim: "results".to_owned(),
            path: "2027/run".to_owned(),
            fs_group: None,
        };
        let found = FoundOutput::Read {
            sha256: "00".to_owned(),
            bytes: 5_000_000,
            files: 1,
            value: None,
            findings: Vec::new(),
        };
        let wrong = FoundOutput::Wrong("it is a link or a socket".to_owned());
        join(
            &mut read,
            &declared,
            &folder,
            vec![(&declared[0], found), (&declared[2], wrong)],
        );
        assert!(read.too_large.is_empty());
        let names: Vec<&str> = read.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, ["cleaned", "rows"]);
        let place = read.outputs[0].claim().unwrap();
        assert_eq!(place.path, "2027/run/cleaned");
        assert_eq!(read.outputs[0].file_name, "cleaned.csv");
        assert_eq!(read.faults[0].output, "pages");
    }
}
