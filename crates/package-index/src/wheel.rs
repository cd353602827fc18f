//! Names of wheels (PEP 427): which version they are of, and where they run (PEP 425). What pip would take is never refused.

/// Parts of the name of a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wheel<'a> {
    /// Its version, as written.
    pub version: &'a str,
    pythons: &'a str,
    abis: &'a str,
    platforms: &'a str,
}

impl<'a> Wheel<'a> {
    /// Reads `name-version(-build)-python-abi-platform.whl`.
    pub fn parse(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_suffix(".whl")?.split('-');
        let (_, version) = (parts.next()?, parts.next()?);
        // From the end, since a build number may stand in between.
        let (platforms, abis, pythons) = (parts.next_back()?, parts.next_back()?, parts.next_back()?);
        Some(Self {
            version,
            pythons,
            abis,
            platforms,
        })
    }

    /// Reports whether it runs on Linux with this minor version of Python 3 on this architecture. Which C library there is, and how old it
    /// is, nobody knows here.
    pub fn runs_on(&self, minor: u32, architecture: &str) -> bool {
        // `manylinux_2_17_x86_64.manylinux2014_x86_64` is one wheel for both.
        let mut platforms = self.platforms.split('.');
        platforms.any(|platform| is_platform(platform, architecture))
            && self
                .pythons
                .split('.')
                .any(|python| self.abis.split('.').any(|abi| is_python(python, abi, minor)))
    }
}

fn is_platform(platform: &str, architecture: &str) -> bool {
    let Some(rest) = platform.strip_suffix(architecture) else {
        return platform == "any";
    };
    ["manylinux", "musllinux", "linux"]
        .iter()
        .any(|start| rest.starts_with(start))
}

fn is_python(python: &str, abi: &str, minor: u32) -> bool {
    let own = format!("cp3{minor}");
    let version = |prefix: &str| {
        let digits = python.strip_prefix(prefix)?;
        if digits.is_empty() {
            return Some(0);
        }
        digits.parse::<u32>().ok()
    };
    match abi {
        // `py3`, `py38`: this one and all after it; CPython's of an older version hold no compiled code without an abi.
        "none" => version("py3")
            .or_else(|| version("cp3"))
            .is_some_and(|least| least <= minor),
        // The stable ABI: a wheel of 3.8 runs on 3.12.
        "abi3" => version("cp3").is_some_and(|least| least <= minor),
        abi => python == own && abi == own,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("tiny-1.0-py3-none-any.whl", true)]
    #[case("tiny-1.0-py2.py3-none-any.whl", true)]
    #[case("tiny-1.0-2-py38-none-any.whl", true)]
    #[case("tiny-1.0-py313-none-any.whl", false)]
    #[case("tiny-1.0-py2-none-any.whl", false)]
    #[case(
        "numpy-2.0.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        true
    )]
    #[case("numpy-2.0.0-cp312-cp312-musllinux_1_2_x86_64.whl", true)]
    #[case("numpy-2.0.0-cp312-cp312-manylinux_2_17_aarch64.whl", false)]
    #[case("numpy-2.0.0-cp312-cp312-macosx_14_0_x86_64.whl", false)]
    #[case("numpy-2.0.0-cp312-cp312-win_amd64.whl", false)]
    #[case("numpy-2.0.0-cp311-cp311-linux_x86_64.whl", false)]
    #[case("numpy-2.0.0-cp313-cp313t-linux_x86_64.whl", false)]
    #[case("cryptography-42.0-cp39-abi3-manylinux_2_28_x86_64.whl", true)]
    #[case("cryptography-42.0-cp313-abi3-manylinux_2_28_x86_64.whl", false)]
    #[case("uv-0.9-py3-none-manylinux_2_17_x86_64.whl", true)]
    #[case("x-1.0-pp310-pypy310_pp73-linux_x86_64.whl", false)]
    fn a_wheel_runs_where_its_name_says(#[case] file: &str, #[case] expected: bool) {
        assert_eq!(Wheel::parse(file).unwrap().runs_on(12, "x86_64"), expected);
    }

    #[rstest]
    #[case("tiny-1.0.tar.gz")]
    #[case("tiny.whl")]
    #[case("tiny-1.0-py3.whl")]
    fn other_files_are_no_wheels(#[case] file: &str) {
        assert_eq!(Wheel::parse(file), None);
    }
}
