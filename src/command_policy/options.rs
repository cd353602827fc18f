//! The options of a program, as its rule lists them: what is not listed is denied.

use serde::Deserialize;

use crate::denial::Denial;
use crate::script::Argument;

/// The options that a program may be given.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct Options {
    /// Letters of options without a value.
    flags: String,
    /// Letters of options with a value.
    valued: String,
    /// Letters of options whose value may follow in the same word.
    optional: String,
    /// Long options without a value, or with one after `=` that changes nothing.
    long: Vec<String>,
    /// Long options with a value.
    long_valued: Vec<String>,
    /// Letters and names of options whose value is a path that is written.
    writes: Vec<String>,
    /// Whether each word is one option, and a value in the same word a number: for programs that know `-cols` and `-c`.
    alone: bool,
    /// Whether options end at the first operand.
    ends_at_operand: bool,
}

/// An option with its value.
#[derive(Debug, Clone)]
pub(crate) struct Given<'a> {
    /// A letter, or a long name without its dashes.
    pub(crate) name: String,
    /// Its value, where there is one. Of a value in the same word the literal alone.
    pub(crate) value: Option<Value<'a>>,
}

/// The value of an option.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// Of a word of its own.
    Word(&'a Argument),
    /// The rest of the word of the option.
    Rest(String),
}

impl Value<'_> {
    /// The literal, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Word(word) => word.text(),
            Self::Rest(text) => Some(text),
        }
    }
}

/// Options and operands, told apart.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'a> {
    pub(crate) options: Vec<Given<'a>>,
    pub(crate) operands: Vec<&'a Argument>,
    /// How many arguments stand before the first operand, where options end at it.
    pub(crate) before_operands: usize,
}

impl Parsed<'_> {
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|given| names.contains(&given.name.as_str()))
    }
}

impl Options {
    /// Whether the value of an option is a path that is written.
    pub(crate) fn writes(&self, name: &str) -> bool {
        self.writes.iter().any(|written| written == name)
    }

    /// The same arguments, with each path that is written as a word of its own: `-o FILE` for `-oFILE`.
    pub(crate) fn with_outputs_apart(&self, arguments: Vec<Argument>) -> Vec<Argument> {
        let mut apart = Vec::new();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let (takes_next, written) = match argument.text() {
                Some("--") => {
                    apart.push(argument);
                    break;
                }
                Some(text) => self.output_value(text),
                None => (false, None),
            };
            if let Some((option, path)) = written {
                apart.extend([Argument::Text(option), Argument::Text(path)]);
            } else {
                apart.push(argument);
            }
            if takes_next {
                apart.extend(rest.next());
            }
        }
        apart.extend(rest);
        apart
    }

    /// Whether the next word is the value of an option, and an option with the path in the same word that it writes.
    fn output_value(&self, text: &str) -> (bool, Option<(String, String)>) {
        if let Some(long) = text.strip_prefix("--") {
            let written = long.split_once('=').filter(|(name, _)| self.writes(name));
            let written = written.map(|(name, path)| (format!("--{name}"), path.to_owned()));
            let takes_next = self.long_valued.iter().any(|name| name == long);
            return (takes_next, written);
        }
        let Some(letters) = text.strip_prefix('-') else {
            return (false, None);
        };
        let is_valued = |c: char| self.valued.contains(c) || self.optional.contains(c);
        let Some((at, letter)) = letters.char_indices().find(|(_, c)| is_valued(*c)) else {
            return (false, None);
        };
        let end = at + letter.len_utf8();
        if end == letters.len() {
            return (self.valued.contains(letter), None);
        }
        let written = self.writes(letter.encode_utf8(&mut [0; 4]));
        let apart = (format!("-{}", &letters[..end]), letters[end..].to_owned());
        (false, written.then_some(apart))
    }

    /// Reads the arguments of a program as it will.
    pub(crate) fn parse<'a>(&self, program: &str, arguments: &'a [Argument]) -> Result<Parsed<'a>, Denial> {
        let mut parsed = Parsed::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (beginning, is_whole) = argument.beginning();
            let is_option = beginning.starts_with('-') && (beginning.len() > 1 || !is_whole);
            if !is_option {
                parsed.operands.push(argument);
                if self.ends_at_operand {
                    parsed.before_operands = arguments.len() - rest.len() - 1;
                    parsed.operands.extend(rest);
                    return Ok(parsed);
                }
                continue;
            }
            if beginning == "--" && is_whole {
                parsed.before_operands = arguments.len() - rest.len();
                parsed.operands.extend(rest);
                return Ok(parsed);
            }
            if !is_whole {
                return Err(Denial::syntax(format!(
                    "an option of {program} is settled later ({beginning}...): write the option and its value as separate words"
                )));
            }
            if let Some(long) = beginning.strip_prefix("--") {
                parsed.options.push(self.long(program, long, &mut rest)?);
            } else {
                let letters = &beginning[1..];
                let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+');
                if self.alone && letters.chars().nth(1).is_some_and(|c| !is_number(c)) {
                    return Err(unlisted(program, beginning));
                }
                self.short(program, letters, &mut rest, &mut parsed.options)?;
            }
        }
        parsed.before_operands = arguments.len();
        Ok(parsed)
    }

    fn long<'a>(
        &self,
        program: &str,
        text: &str,
        rest: &mut std::slice::Iter<'a, Argument>,
    ) -> Result<Given<'a>, Denial> {
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        let has = |list: &[String]| list.iter().any(|listed| listed == name);
        let value = match value {
            Some(value) if has(&self.long) || has(&self.long_valued) => Some(Value::Rest(value.to_owned())),
            None if has(&self.long) => None,
            None if has(&self.long_valued) => Some(word(program, name, rest)?),
            _ => return Err(unlisted(program, &format!("--{name}"))),
        };
        Ok(Given {
            name: name.to_owned(),
            value,
        })
    }

    fn short<'a>(
        &self,
        program: &str,
        letters: &str,
        rest: &mut std::slice::Iter<'a, Argument>,
        options: &mut Vec<Given<'a>>,
    ) -> Result<(), Denial> {
        let mut after = letters;
        while let Some(letter) = after.chars().next() {
            after = &after[letter.len_utf8()..];
            let name = letter.to_string();
            let value = if self.flags.contains(letter) {
                None
            } else if self.optional.contains(letter) || self.valued.contains(letter) && !after.is_empty() {
                let value = Value::Rest(after.to_owned());
                after = "";
                Some(value)
            } else if self.valued.contains(letter) {
                Some(word(program, &name, rest)?)
            } else {
                return Err(unlisted(program, &format!("-{name}")));
            };
            options.push(Given { name, value });
        }
        Ok(())
    }
}

/// The next word as a value. A pattern could be several words, the second of which is no value any more.
fn word<'a>(
    program: &str,
    option: &str,
    rest: &mut std::slice::Iter<'a, Argument>,
) -> Result<Value<'a>, Denial> {
    let word = rest.next().ok_or_else(|| no_value(program, option))?;
    if word.is_pattern() {
        return Err(Denial::new(
            "options",
            format!(
                "the value of the option {option} of {program} would be the files that match: quote it, or write the name"
            ),
        ));
    }
    Ok(Value::Word(word))
}

fn unlisted(program: &str, option: &str) -> Denial {
    Denial::new(
        "options",
        format!(
            "{program} is not run with {option}: leave it out or write its full name, or use a small Python file"
        ),
    )
}

fn no_value(program: &str, option: &str) -> Denial {
    Denial::new(
        "options",
        format!("the option {option} of {program} has no value: give one"),
    )
}
