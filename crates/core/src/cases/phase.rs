//! Cases as runs of a program in its sandbox.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::mounts::arguments;
use crate::sandbox::{InputMount, Phase, PhaseFile, PhaseName, ProgramPhase};
use crate::task::{FrozenFile, Task};
use codegen_api::case::{Case, CaseMode};
use codegen_api::values::{Input, Output, ValueType};

use super::compare::OutputShape;
use super::form::{CaseFile, Forms, split};
use super::shown::shown;
use super::{CaseSet, MOST_OUTPUT_BYTES, choice, gives, output_of, reference, unique};

/// Origin of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOrigin {
    /// The user: no model learns more of it than whether it holds.
    Example,
    /// The plan, with its number there.
    Plan(usize),
}

/// A case that is executed.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseExecution {
    /// Origin of the case.
    pub origin: CaseOrigin,
    /// The case.
    pub case: Case,
    /// True where it was worked out twice already.
    pub is_settled: bool,
    /// True where the author of the program learns no more of it than that it failed.
    pub is_held: bool,
    /// True where it is executed exactly as a run is, in a sandbox of its own: where it is not, a program may find out that it is a case.
    pub is_apart: bool,
}

/// The cases of one attempt in the order in which they run: the user's, then the plan's.
#[must_use]
pub fn executions(task: &Task, set: &CaseSet) -> Vec<CaseExecution> {
    let run = |origin, case: &Case, is_settled, is_held| CaseExecution {
        origin,
        case: case.clone(),
        is_settled,
        is_held,
        is_apart: false,
    };
    let examples = task.examples.iter();
    let examples = examples.map(|case| run(CaseOrigin::Example, case, true, false));
    let held = set.held(task);
    let planned = set.deciding().map(|(number, case)| {
        // A corrected case is settled: a third answer would be no better than the second.
        let is_settled = set.is_revised(number);
        run(CaseOrigin::Plan(number), case, is_settled, held == Some(number))
    });
    let mut runs: Vec<CaseExecution> = examples.chain(planned).collect();
    if let Some(apart) = apart(task, &runs) {
        runs[apart].is_apart = true;
    }
    runs
}

/// Finds the one that is executed as a run is: one of those that decide, by a choice that neither the program nor its author can know.
fn apart(task: &Task, runs: &[CaseExecution]) -> Option<usize> {
    let of = |is_example: bool| {
        let runs = runs.iter().enumerate();
        let some = runs.filter(move |(_, run)| run.number().is_none() == is_example);
        // The one that is held back, so that no program is right there by what it knows of the others.
        some.min_by_key(|(_, run)| (!run.is_held, choice::rank(&run.case)))
    };
    let planned = of(false).filter(|_| task.cases == CaseMode::Require);
    planned.or_else(|| of(true)).map(|(place, _)| place)
}

impl CaseExecution {
    /// Returns the name of a failure of it (`case 2 (ties)`).
    #[must_use]
    pub fn id(&self) -> String {
        match self.origin {
            // The model learns how many examples fail, and not which.
            CaseOrigin::Example => "examples".to_owned(),
            CaseOrigin::Plan(number) => {
                format!("case {number} ({})", shown(&self.case.about))
            }
        }
    }

    /// Number of the case of the plan whose failure shows what it states; `None` of an example.
    #[must_use]
    pub const fn number(&self) -> Option<usize> {
        match self.origin {
            CaseOrigin::Example => None,
            CaseOrigin::Plan(number) => Some(number),
        }
    }

    /// The execution of `solution` that shows whether it holds, beside others in one sandbox. Its files have the format of the samples.
    #[must_use]
    pub fn phase(&self, task: &Task, forms: &Forms, solution: &str) -> Phase {
        let (args, inputs) = call(task, forms, &self.case);
        let files = inputs.into_iter().flat_map(|input| {
            let (name, file_name) = (input.name, input.file_name);
            input.content.into_iter().map(move |mut file| {
                if file.path.is_empty() {
                    // As the mounts of a run: a file has two names.
                    file.also.extend((name != file_name).then(|| name.clone()));
                    file.path.clone_from(&file_name);
                } else {
                    file.path = format!("{name}/{}", file.path);
                }
                file
            })
        });
        self.program(task, solution, args, files.collect())
    }

    /// The same exactly as a run is made, in a sandbox of its own: its phase and what is mounted. `source` says where a frozen file lies.
    #[must_use]
    pub fn as_run(
        &self,
        task: &Task,
        forms: &Forms,
        solution: &str,
        source: impl Fn(&FrozenFile) -> String,
    ) -> (Phase, Vec<InputMount>) {
        let (args, mut inputs) = call(task, forms, &self.case);
        let frozen = self.frozen(task);
        let mounts = task.mounts(source).into_iter();
        inputs.extend(mounts.filter(|mount| frozen.contains(&mount.name)));
        // In a run they follow the options.
        inputs.sort_by_key(|mount| task.inputs.iter().position(|input| input.name == mount.name));
        (self.program(task, solution, args, Vec::new()), inputs)
    }

    /// The frozen inputs that it takes, for it gives nothing in their place: a run of it would have these and no others.
    #[must_use]
    pub fn frozen(&self, task: &Task) -> BTreeSet<String> {
        let inputs = task.inputs.iter().filter(|input| {
            matches!(input.type_, ValueType::File | ValueType::Dir)
                && !gives(&self.case, &input.name)
                && task.mount_name(&input.name).is_some()
        });
        inputs.map(|input| input.name.clone()).collect()
    }

    fn program(&self, task: &Task, solution: &str, args: Vec<String>, files: Vec<PhaseFile>) -> Phase {
        Phase::Program(ProgramPhase {
            name: PhaseName::Case,
            solution: solution.to_owned(),
            args,
            files,
            outputs: self.outputs(task),
            max_output_bytes: MOST_OUTPUT_BYTES,
            disk_bytes: None,
            in_message: false,
        })
    }

    /// Outputs that are compared, then those of which only the type counts: there is a bound for all together.
    fn outputs(&self, task: &Task) -> Vec<String> {
        let lines = &self.case.expect;
        let others = lines.iter().filter_map(|line| reference(task, &line.value));
        let stated = lines.iter().map(output_of).chain(others);
        let typed = task
            .outputs
            .iter()
            .filter(|output| !self.case.refused && has_typed_text(output))
            .map(|output| output.name.as_str());
        let is_output = |name: &&str| task.outputs.iter().any(|output| output.name == *name);
        let names = stated.chain(typed).filter(is_output);
        unique(names.map(str::to_owned))
    }
}

/// Reports whether an output is a value, or a file whose format is one of text.
fn has_typed_text(output: &Output) -> bool {
    OutputShape::declared(output.type_, output.format).is_some_and(|shape| shape != OutputShape::Bytes)
}

/// Command line and input files of a case: both as a run that is given these inputs has them.
fn call(task: &Task, forms: &Forms, case: &Case) -> (Vec<String>, Vec<InputMount>) {
    let mut args = Vec::new();
    let mut inputs = Vec::new();
    for input in &task.inputs {
        let given: Vec<_> = case
            .inputs
            .iter()
            .filter(|given| split(&given.name).0 == input.name)
            .collect();
        let files = given
            .iter()
            .filter_map(|given| Some(file(CaseFile::of(task, forms, input, given)?, &given.value)));
        let mount = mount(input, files.collect());
        let value = match (&mount, given.first()) {
            (Some(mount), _) => Some(format!("/var/inputs/{}", mount.file_name)),
            (None, Some(given)) => Some(given.value.clone()),
            (None, None) => task.default_of(input),
        };
        inputs.extend(mount);
        args.extend(value.into_iter().flat_map(|value| arguments(&input.name, &value)));
    }
    (args, inputs)
}

/// Returns the mount of a case's content for an input of files; `None` where it gives none.
fn mount(input: &Input, mut content: Vec<PhaseFile>) -> Option<InputMount> {
    let first = content.first()?;
    let file_name = match input.type_ {
        ValueType::File => first.path.clone(),
        _ => input.name.clone(),
    };
    for file in &mut content {
        // Below the name of a folder lies the file, at that of a file the file itself.
        file.path = split(&file.path).1.unwrap_or_default().to_owned();
    }
    Some(InputMount {
        name: input.name.clone(),
        file_name,
        source: String::new(),
        content,
    })
}

/// A file of a case. A text that cannot be written as it should be is no usable case.
fn file(at: CaseFile, text: &str) -> PhaseFile {
    let bytes = at.bytes(text).unwrap_or_else(|_| text.as_bytes().to_vec());
    PhaseFile {
        path: at.path,
        // Base64, since a job is JSON and a file may be UTF-16.
        content: BASE64_STANDARD.encode(bytes),
        also: Vec::new(),
    }
}
