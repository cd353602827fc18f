//! The address of a call: arguments in the places of a URL template, the others as query or body. Pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde_json::{Map, Value};

/// All but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Arguments that stand in no placeholder.
pub(super) type Rest<'a> = Vec<(&'a str, &'a Value)>;

/// A URL with `{name}` in its path.
#[derive(Clone, Debug)]
pub(super) struct UrlTemplate {
    /// Up to the first placeholder's place: the address with the template's path cut off.
    base: Url,
    /// Segments of the path, each of literal text and placeholders.
    segments: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Placeholder(String),
}

impl UrlTemplate {
    /// The template `text`, or what is wrong with it: placeholders stand in the path, and each is a required parameter.
    pub fn new(text: &str, parameters: &Value) -> Result<Self, String> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let path_start = text.len() - rest.len() + rest.find('/').unwrap_or(rest.len());
        let (origin, path) = text.split_at(path_start);
        let (path, after) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
        if [origin, after].iter().any(|part| part.contains(['{', '}'])) {
            return Err(
                "placeholders such as {base} stand in its path alone; other arguments go into the query or the body by themselves"
                    .to_owned(),
            );
        }
        if after.contains('#') {
            return Err("it has a fragment, which is never sent; leave out what follows the #".to_owned());
        }
        let base = Url::parse(&format!("{origin}/{after}")).map_err(|_| {
            "write an http or https address such as https://rates.example/v1/{base}".to_owned()
        })?;
        let segments = path.strip_prefix('/').unwrap_or(path).split('/');
        let segments = segments.map(parts).collect::<Result<Vec<_>, _>>()?;
        let template = Self { base, segments };
        template.check(parameters)?;
        Ok(template)
    }

    /// The address without arguments, to judge its origin.
    pub fn base(&self) -> &Url {
        &self.base
    }

    fn check(&self, parameters: &Value) -> Result<(), String> {
        for name in self.placeholders() {
            if parameters
                .pointer("/properties")
                .and_then(|all| all.get(name))
                .is_none()
            {
                return Err(format!(
                    "`{{{name}}}` is none of the properties of `parameters`: add it there"
                ));
            }
            let required = parameters.get("required").and_then(Value::as_array);
            if !required.is_some_and(|required| required.iter().any(|each| each == name)) {
                return Err(format!(
                    "`{{{name}}}` is not required: add it to `required` of `parameters`, for there is no address without it"
                ));
            }
        }
        Ok(())
    }

    fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flatten().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Placeholder(name) => Some(name.as_str()),
        })
    }

    /// The address for `arguments` and those of them that stand in no placeholder, or what is wrong with one.
    pub fn fill<'a>(&self, arguments: &'a Map<String, Value>) -> Result<(Url, Rest<'a>), String> {
        let mut path = String::new();
        for segment in &self.segments {
            let text = fill_segment(segment, arguments)?;
            path.push('/');
            path.push_str(&text);
        }
        let mut url = self.base.clone();
        url.set_path(&path);
        // No value adds a segment or takes one away; should a parser see it otherwise, nothing is sent.
        if url.path() != path {
            return Err("the arguments do not fit into its address".to_owned());
        }
        let used: Vec<&str> = self.placeholders().collect();
        let rest = arguments.iter().map(|(name, value)| (name.as_str(), value));
        Ok((url, rest.filter(|(name, _)| !used.contains(name)).collect()))
    }
}

fn parts(segment: &str) -> Result<Vec<Part>, String> {
    if !segment.is_empty() && path_of(segment)? == "/" {
        return Err("a segment of its path is `.` or `..`; write the address as it is meant".to_owned());
    }
    let mut parts = Vec::new();
    let mut rest = segment;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err("a { is not closed".to_owned());
        };
        push_literal(&mut parts, literal)?;
        parts.push(Part::Placeholder(name.to_owned()));
        rest = after;
    }
    push_literal(&mut parts, rest)?;
    Ok(parts)
}

fn push_literal(parts: &mut Vec<Part>, text: &str) -> Result<(), String> {
    if text.contains('}') {
        return Err("a } is not opened".to_owned());
    }
    if text.is_empty() {
        return Ok(());
    }
    // As a parser spells it, so that a filled address can be compared with what a parser makes of it. Dots alone would vanish.
    let spelled = path_of(&format!("x{text}"))?;
    parts.push(Part::Literal(spelled.trim_start_matches("/x").to_owned()));
    Ok(())
}

fn path_of(text: &str) -> Result<String, String> {
    let mut scratch = Url::parse("http://host.invalid").map_err(|error| error.to_string())?;
    scratch.set_path(text);
    Ok(scratch.path().to_owned())
}

fn fill_segment(parts: &[Part], arguments: &Map<String, Value>) -> Result<String, String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Placeholder(name) => text.push_str(&encoded(name, arguments.get(name))?),
        }
    }
    let has_placeholder = parts.iter().any(|part| matches!(part, Part::Placeholder(_)));
    if has_placeholder && matches!(text.as_str(), "." | "..") {
        return Err(
            "an argument in its path makes a segment `.` or `..`, which names another address".to_owned(),
        );
    }
    Ok(text)
}

/// A value as part of one segment of a path.
fn encoded(name: &str, value: Option<&Value>) -> Result<String, String> {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        Some(Value::Null) | None => {
            return Err(format!(
                "`{name}` is missing, and its address has no place without it"
            ));
        }
        Some(Value::Array(_) | Value::Object(_)) => {
            return Err(format!(
                "`{name}` stands in its address, so it must be a string, a number or a boolean"
            ));
        }
    };
    if text.is_empty() {
        return Err(format!(
            "`{name}` is empty, and without it the address is another one"
        ));
    }
    // Encoded slashes are decoded by some servers before they resolve dots.
    if text.split(['/', '\\']).any(|step| step == "..") && text != ".." {
        return Err(format!(
            "`{name}` has a step `..`, which names another address on some servers"
        ));
    }
    Ok(utf8_percent_encode(&text, ENCODED).to_string())
}

/// Adds `arguments` to a query: lists repeat their key, null is left out, objects are JSON.
pub(super) fn add_query(url: &mut Url, arguments: &[(&str, &Value)]) {
    let pairs: Vec<(&str, String)> = arguments
        .iter()
        .flat_map(|(name, value)| {
            let values = match value {
                Value::Array(values) => values.iter().collect(),
                value => vec![*value],
            };
            let values = values.into_iter().filter(|value| !value.is_null());
            values.map(|value| (*name, text_of(value)))
        })
        .collect();
    // An empty query would still leave its question mark.
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The body of a call.
pub(super) fn body(arguments: &[(&str, &Value)]) -> Value {
    let fields = arguments
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()));
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests;
