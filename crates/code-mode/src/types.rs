//! The types of values that travel between a program and its tools.

use std::fmt::Write as _;

use serde_json::Value;

/// Position of a type, which decides how a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Value that a program hands to a tool.
    Parameter,
    /// Value that a tool hands to a program: JSON, in which a date is a string.
    Result,
}

/// A type, as far as Python can say it.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Nothing is known of it.
    Any,
    /// `None`.
    None,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `float`, and `int` where one is expected.
    Float,
    /// `str`.
    Str,
    /// A date, as ISO 8601.
    Date,
    /// A moment, as ISO 8601.
    DateTime,
    /// One of these strings, numbers and booleans.
    Literal(Vec<Value>),
    /// A list.
    List(Box<Self>),
    /// A mapping of strings.
    Dict(Box<Self>),
    /// A mapping with named fields.
    Object(Object),
    /// A file that a tool takes or gives, by handle.
    File,
    /// One of several, at least two.
    Union(Vec<Self>),
}

/// A mapping with named fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Name of its class (`ExchangeRateResult`).
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its key, which need not be an identifier.
    pub name: String,
    /// Its type.
    pub type_: Type,
    /// True where it is always there.
    pub is_required: bool,
    /// Description in one line; may be empty.
    pub description: String,
}

impl Type {
    /// As Python writes it (`list[str] | None`).
    #[must_use]
    pub fn python(&self, position: Position) -> String {
        match self {
            Self::Any => "Any".to_owned(),
            Self::None => "None".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Float => "float".to_owned(),
            Self::Date if position == Position::Parameter => "date | str".to_owned(),
            Self::DateTime if position == Position::Parameter => "datetime | str".to_owned(),
            Self::Str | Self::Date | Self::DateTime => "str".to_owned(),
            Self::Literal(values) => {
                let values: Vec<_> = values.iter().map(literal).collect();
                format!("Literal[{}]", values.join(", "))
            }
            Self::List(items) => format!("list[{}]", items.python(position)),
            Self::Dict(values) => format!("dict[str, {}]", values.python(position)),
            Self::Object(object) => object.name.clone(),
            Self::File => "File".to_owned(),
            Self::Union(of) => {
                let of: Vec<_> = of.iter().map(|one| one.python(position)).collect();
                of.join(" | ")
            }
        }
    }

    /// Reports whether `None` is a value of it.
    #[must_use]
    pub fn takes_none(&self) -> bool {
        match self {
            Self::Any | Self::None => true,
            Self::Union(of) => of.iter().any(Self::takes_none),
            _ => false,
        }
    }

    /// Reports whether a file's handle is in it.
    #[must_use]
    pub fn has_file(&self) -> bool {
        match self {
            Self::File => true,
            Self::List(inner) | Self::Dict(inner) => inner.has_file(),
            Self::Union(of) => of.iter().any(Self::has_file),
            Self::Object(object) => object.fields.iter().any(|field| field.type_.has_file()),
            _ => false,
        }
    }

    /// Every object in it, inner ones first.
    pub fn objects<'a>(&'a self, found: &mut Vec<&'a Object>) {
        match self {
            Self::List(inner) | Self::Dict(inner) => inner.objects(found),
            Self::Union(of) => of.iter().for_each(|one| one.objects(found)),
            Self::Object(object) => {
                for field in &object.fields {
                    field.type_.objects(found);
                }
                found.push(object);
            }
            _ => {}
        }
    }
}

impl Object {
    /// Its declaration in Python. One whose keys are no identifiers is declared by a call.
    #[must_use]
    pub fn declaration(&self, position: Position) -> String {
        let type_of = |field: &Field| {
            let type_ = field.type_.python(position);
            if field.is_required {
                type_
            } else {
                format!("NotRequired[{type_}]")
            }
        };
        if !self.fields.iter().all(|field| crate::names::is_name(&field.name)) {
            let fields: Vec<_> = self
                .fields
                .iter()
                .map(|field| format!("{}: {}", quoted(&field.name), type_of(field)))
                .collect();
            return format!(
                "{0} = TypedDict({1}, {{{2}}})\n",
                self.name,
                quoted(&self.name),
                fields.join(", ")
            );
        }
        let mut declaration = format!("class {}(TypedDict):\n", self.name);
        for field in &self.fields {
            let comment = match field.description.as_str() {
                "" => String::new(),
                description => format!("  # {description}"),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(declaration, "    {}: {}{comment}", field.name, type_of(field));
        }
        declaration
    }
}

/// A value as Python writes it.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A string as Python writes it: what JSON escapes Python reads the same.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
