//! The page of a project: JSON as of PEP 691 and 700, or HTML as of PEP 503.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Its name.
    pub name: String,
    /// Versions of Python that it runs on (`>=3.9`); nothing where the index does not say.
    pub requires_python: Option<String>,
    /// True where it was taken back.
    pub is_yanked: bool,
    /// Time of its publication, where the index says so.
    pub uploaded: Option<Timestamp>,
}

/// The files of a page of this content type.
pub(super) fn read(form: &str, body: &[u8]) -> Result<Vec<File>, String> {
    let form = form.split(';').next().unwrap_or_default().trim();
    if form.ends_with("json") {
        return json(body);
    }
    let text = std::str::from_utf8(body).map_err(|_| "its page is not UTF-8".to_owned())?;
    html(text)
}

#[derive(Deserialize)]
struct Page {
    files: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    filename: String,
    #[serde(default)]
    requires_python: Option<String>,
    /// `false`, or `true`, or why.
    #[serde(default)]
    yanked: Value,
    #[serde(default)]
    upload_time: Option<String>,
}

fn json(body: &[u8]) -> Result<Vec<File>, String> {
    let page: Page =
        serde_json::from_slice(body).map_err(|error| format!("its page is not JSON of PEP 691: {error}"))?;
    let files = page.files.into_iter().map(|entry| File {
        name: entry.filename,
        requires_python: entry.requires_python.filter(|versions| !versions.is_empty()),
        is_yanked: !matches!(entry.yanked, Value::Null | Value::Bool(false)),
        uploaded: entry.upload_time.and_then(|time| time.parse().ok()),
    });
    Ok(files.collect())
}

fn html(text: &str) -> Result<Vec<File>, String> {
    let document = tl::parse(text, tl::ParserOptions::default())
        .map_err(|error| format!("its page is not HTML of PEP 503: {error}"))?;
    let tags = document.nodes().iter().filter_map(tl::Node::as_tag);
    let mut links = tags
        .filter(|tag| tag.name().as_bytes().eq_ignore_ascii_case(b"a"))
        .peekable();
    // A project without files has a page without links: that is no error, as long as it is a page.
    if links.peek().is_none() && !text.to_ascii_lowercase().contains("<html") && !text.trim().is_empty() {
        return Err("its page is neither JSON of PEP 691 nor HTML of PEP 503".to_owned());
    }
    Ok(links.filter_map(file).collect())
}

/// Returns the file that a link leads to: the name is the end of its address, which is the same as its text.
fn file(link: &tl::HTMLTag<'_>) -> Option<File> {
    let attribute = |name: &str| {
        let value = link.attributes().get(name)?;
        Some(value.map_or_else(String::new, |value| plain(&value.as_utf8_str())))
    };
    let address = attribute("href")?;
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    Some(File {
        // These are what names of wheels contain that an address escapes: local versions and epochs.
        name: name.replace("%2B", "+").replace("%2b", "+").replace("%21", "!"),
        requires_python: attribute("data-requires-python").filter(|versions| !versions.is_empty()),
        is_yanked: attribute("data-yanked").is_some(),
        uploaded: attribute("data-upload-time").and_then(|time| time.parse().ok()),
    })
}

/// Without the entities that stand in attributes of such pages.
fn plain(text: &str) -> String {
    text.replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        // Last: `&amp;lt;` stands for `&lt;` and not for `<`.
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> File {
        File {
            name: name.to_owned(),
            requires_python: None,
            is_yanked: false,
            uploaded: None,
        }
    }

    #[test]
    fn a_json_page_says_all_there_is_to_know() {
        let page = br#"{"meta": {"api-version": "1.1"}, "name": "tiny", "files": [
            {"filename": "tiny-1.0-py3-none-any.whl", "url": "u", "hashes": {"sha256": "ab"}, "requires-python": ">=3.9",
             "yanked": false, "upload-time": "2024-05-01T10:00:00.123456Z", "size": 5},
            {"filename": "tiny-0.9.tar.gz", "url": "u", "hashes": {}, "requires-python": null, "yanked": "broken"},
            {"filename": "tiny-0.8.tar.gz", "url": "u", "hashes": {}}]}"#;
        let files = read("application/vnd.pypi.simple.v1+json; charset=utf-8", page).unwrap();
        assert_eq!(
            files,
            [
                File {
                    requires_python: Some(">=3.9".into()),
                    uploaded: Some("2024-05-01T10:00:00.123456Z".parse().unwrap()),
                    ..file("tiny-1.0-py3-none-any.whl")
                },
                File {
                    is_yanked: true,
                    ..file("tiny-0.9.tar.gz")
                },
                file("tiny-0.8.tar.gz"),
            ]
        );
    }

    #[test]
    fn an_html_page_says_it_in_its_links() {
        let page = r#"<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0"></head><body>
            <h1>Links for tiny</h1><br/>
            <a href="../../files/tiny-1.0-py3-none-any.whl#sha256=ab" data-requires-python="&gt;=3.9,&lt;4" rel=internal>tiny</a><br>
            <A href="https://files.example/tiny-1.0%2Bcpu-py3-none-any.whl">tiny</A><br>
            <a data-yanked="broken" href='tiny-0.9.tar.gz?x=1'>tiny-0.9.tar.gz</a>
            <a name="top">no file</a></body></html>"#;
        let files = read("text/html", page.as_bytes()).unwrap();
        assert_eq!(
            files,
            [
                File {
                    requires_python: Some(">=3.9,<4".into()),
                    ..file("tiny-1.0-py3-none-any.whl")
                },
                file("tiny-1.0+cpu-py3-none-any.whl"),
                File {
                    is_yanked: true,
                    ..file("tiny-0.9.tar.gz")
                },
            ]
        );
    }

    #[test]
    fn what_is_neither_is_said() {
        assert!(read("application/json", b"[]").unwrap_err().contains("PEP 691"));
        assert!(
            read("text/plain", b"sign in first")
                .unwrap_err()
                .contains("neither")
        );
        assert!(read("text/html", &[0xff, 0xfe]).unwrap_err().contains("UTF-8"));
        assert_eq!(read("text/html", b"<html><body></body></html>"), Ok(vec![]));
    }
}
