//! Events of the parser to one value: keys, anchors, merge keys and tags.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use granit_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::scalar::plain;
use super::{YamlDialect, YamlDocument};

/// Lists and mappings may lie in one another this deep, as in JSON here.
const MOST_LEVELS: usize = 128;
/// Bytes that all anchors of a document may name and its aliases unfold to: far above a manifest, far below memory.
const MOST_UNFOLDED: usize = 16 * 1024 * 1024;
/// Memory that a value takes beside its text.
const NODE_BYTES: usize = 64;
/// Prefix of tags such as `!!int`.
const TAGS: &str = "tag:yaml.org,2002:";

/// The one document of `text`, null where it says nothing. An error names the line, which is that of the file.
pub(super) fn compose(text: &str, lines_before: usize, dialect: YamlDialect) -> Result<YamlDocument, String> {
    let options = granit_parser::options! { emit_comments: false };
    let mut composer = Composer {
        dialect,
        lines_before,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        room: MOST_UNFOLDED,
        notices: Vec::new(),
    };
    let mut root = None;
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) =
            next.map_err(|error| format!("{} ({})", error.info(), composer.place(error.marker())))?;
        let place = composer.place(&span.start);
        if root.is_some() && matches!(event, Event::DocumentStart(..)) {
            return Err(format!(
                "kubectl drops what follows here: begin it with a line --- ({place})"
            ));
        }
        let found = composer.event(event, &place);
        root = found.map_err(|fault| format!("{fault} ({place})"))?.or(root);
    }
    Ok(YamlDocument {
        value: root.unwrap_or_default(),
        notices: composer.notices,
    })
}

struct Composer {
    dialect: YamlDialect,
    lines_before: usize,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    /// Bytes that anchors and aliases may still take.
    room: usize,
    notices: Vec<String>,
}

/// A list or mapping whose end has not come.
struct Open {
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Value>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    fields: Map<String, Value>,
    /// Keys that stand in the mapping itself.
    own: BTreeSet<String>,
    has_merged: bool,
    key: Option<Key>,
}

enum Key {
    Text(String),
    Merge,
}

/// A value that aliases may repeat.
struct Anchored {
    value: Value,
    bytes: usize,
    levels: usize,
}

/// A value, and whether it is the `<<` that merges where it is a key.
struct Node {
    value: Value,
    is_merge: bool,
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self {
            value,
            is_merge: false,
        }
    }
}

impl Composer {
    fn place(&self, marker: &Marker) -> String {
        format!(
            "line {}, column {}",
            self.lines_before + marker.line(),
            marker.col() + 1
        )
    }

    /// Takes one event; gives the whole value with the last one of it.
    fn event(&mut self, event: Event<'_>, place: &str) -> Result<Option<Value>, String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = scalar(&text, style, tag.as_deref(), self.dialect)?;
                self.remember(anchor, &node.value)?;
                self.add(node, place)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.begin(anchor, Content::Mapping(Mapping::default())),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { anchor, content }) = self.open.pop() else {
                    return Ok(None);
                };
                let value = match content {
                    Content::List(items) => Value::Array(items),
                    Content::Mapping(mapping) => Value::Object(mapping.fields),
                };
                self.remember(anchor, &value)?;
                self.add(value.into(), place)
            }
            Event::Alias(id) => {
                let value = self.unfold(id)?;
                self.add(value.into(), place)
            }
            _ => Ok(None),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content) -> Result<Option<Value>, String> {
        self.open.push(Open { anchor, content });
        if self.open.len() > MOST_LEVELS {
            return Err(too_deep());
        }
        Ok(None)
    }

    fn remember(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        // 0 is no anchor.
        if anchor != 0 {
            let (bytes, levels) = size(value);
            self.take_room(bytes)?;
            let value = value.clone();
            self.anchors.insert(anchor, Anchored { value, bytes, levels });
        }
        Ok(())
    }

    fn unfold(&mut self, anchor: usize) -> Result<Value, String> {
        let Some(found) = self.anchors.get(&anchor) else {
            return Err("an alias stands inside of what its own anchor names".to_owned());
        };
        if self.open.len() + found.levels > MOST_LEVELS {
            return Err(too_deep());
        }
        let (value, bytes) = (found.value.clone(), found.bytes);
        self.take_room(bytes)?;
        Ok(value)
    }

    fn take_room(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.room.checked_sub(bytes);
        self.room = left.ok_or("its aliases unfold to more than 16 MiB: write out what they stand for")?;
        Ok(())
    }

    /// Puts a value where it belongs: a list, a mapping's key or its value; the outermost one is given back.
    fn add(&mut self, node: Node, place: &str) -> Result<Option<Value>, String> {
        let Some(open) = self.open.last_mut() else {
            return Ok(Some(node.value));
        };
        let mapping = match &mut open.content {
            Content::List(items) => {
                items.push(node.value);
                return Ok(None);
            }
            Content::Mapping(mapping) => mapping,
        };
        match mapping.key.take() {
            None => mapping.key = Some(key(node, self.dialect)?),
            Some(Key::Merge) => mapping.merge(node.value, self.dialect)?,
            Some(Key::Text(name)) => {
                let is_second = !mapping.own.insert(name.clone());
                if is_second && self.dialect == YamlDialect::Kustomize {
                    return Err(format!("the key {name:?} stands twice: keep one"));
                }
                if is_second {
                    self.notices.push(format!(
                        "the key {name:?} stands twice, and the last one counts ({place})"
                    ));
                }
                mapping.fields.insert(name, node.value);
            }
        }
        Ok(None)
    }
}

impl Mapping {
    /// Takes over the fields of other mappings. In kubectl the order decides, in kustomize what stands here itself.
    fn merge(&mut self, value: Value, dialect: YamlDialect) -> Result<(), String> {
        let wrong = || "the key << merges a mapping or a list of mappings, and nothing else".to_owned();
        if std::mem::replace(&mut self.has_merged, true) && dialect == YamlDialect::Kustomize {
            return Err("the key << stands twice: give it a list of both".to_owned());
        }
        let merged = match value {
            Value::Array(items) => items,
            value => vec![value],
        };
        // The first of several counts.
        for one in merged.into_iter().rev() {
            let Value::Object(fields) = one else {
                return Err(wrong());
            };
            for (name, field) in fields {
                if dialect == YamlDialect::Kubectl || !self.own.contains(&name) {
                    self.fields.insert(name, field);
                }
            }
        }
        Ok(())
    }
}

fn too_deep() -> String {
    format!("lists and mappings lie more than {MOST_LEVELS} deep in one another")
}

/// Bytes that a value takes, and how deep lists and mappings lie in it.
fn size(value: &Value) -> (usize, usize) {
    match value {
        Value::String(text) => (NODE_BYTES + text.len(), 0),
        Value::Array(items) => size_of_all(items.iter()),
        Value::Object(fields) => {
            let keys: usize = fields.keys().map(|name| NODE_BYTES + name.len()).sum();
            let (bytes, levels) = size_of_all(fields.values());
            (bytes + keys, levels)
        }
        _ => (NODE_BYTES, 0),
    }
}

fn size_of_all<'v>(parts: impl Iterator<Item = &'v Value>) -> (usize, usize) {
    let (bytes, levels) = parts
        .map(size)
        .fold((NODE_BYTES, 0), |(bytes, levels), (more, deep)| {
            (bytes + more, deep.max(levels))
        });
    (bytes, levels + 1)
}

fn key(node: Node, dialect: YamlDialect) -> Result<Key, String> {
    match node.value {
        _ if node.is_merge => Ok(Key::Merge),
        Value::String(text) => Ok(Key::Text(text)),
        Value::Bool(_) | Value::Number(_) if dialect == YamlDialect::Kubectl => {
            Ok(Key::Text(node.value.to_string()))
        }
        _ => Err("a key is not a text: put it in quotes".to_owned()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, dialect: YamlDialect) -> Result<Node, String> {
    let Some(tag) = tag else {
        if style != ScalarStyle::Plain {
            return Ok(Value::String(text.to_owned()).into());
        }
        return Ok(Node {
            value: plain(text, dialect)?,
            is_merge: text == "<<",
        });
    };
    let value = match tag.suffix_in_namespace(TAGS).as_deref() {
        Some("int" | "float" | "bool" | "null") => match plain(text, dialect)? {
            Value::String(_) => return Err("a value is not of the type that its tag says".to_owned()),
            value => value,
        },
        Some("binary") => {
            let packed: String = text.split_ascii_whitespace().collect();
            let bytes = STANDARD
                .decode(packed)
                .map_err(|_| "what is tagged !!binary is not base64")?;
            Value::String(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => Value::String(text.to_owned()),
    };
    Ok(value.into())
}
