//! The cache of tools and foreign packages between runs.
//!
//! Every entry is a folder. Its name contains the version or the fingerprint of its content, so an
//! entry does not change once it is complete. A marker file is written last. A folder without a
//! marker is filled again.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::XtaskError;

const COMPLETE: &str = ".complete";

/// The folder of all entries.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Returns the user's cache: `$XDG_CACHE_HOME/svc-xtask`, or `~/.cache/svc-xtask`.
    ///
    /// # Errors
    /// Neither variable is set.
    pub fn of_user() -> Result<Self, XtaskError> {
        let set = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let base = set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .ok_or(XtaskError::NoCacheFolder)?;
        Ok(Self::at(base.join("svc-xtask")))
    }

    /// Makes a cache in the given folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of one entry. When the entry is incomplete, `fill` fills the folder
    /// first. Concurrent runs wait for each other.
    ///
    /// # Errors
    /// The folder cannot be created, or `fill` has failed. The next run then fills the entry again.
    pub fn entry(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), XtaskError>,
    ) -> Result<PathBuf, XtaskError> {
        let folder = self.root.join(name);
        let marker = folder.join(COMPLETE);
        fs::create_dir_all(&self.root).map_err(XtaskError::io(&self.root))?;
        let lock_path = self.root.join(format!("{name}.lock"));
        let lock = File::create(&lock_path).map_err(XtaskError::io(&lock_path))?;
        lock.lock().map_err(XtaskError::io(&lock_path))?;
        if marker.exists() {
            return Ok(folder);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(XtaskError::io(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(XtaskError::io(&folder))?;
        fill(&folder)?;
        fs::write(&marker, "").map_err(XtaskError::io(&marker))?;
        Ok(folder)
    }
}

/// Returns a short name that changes with the contents of these files. It gives no protection
/// against deliberate collisions.
///
/// # Errors
/// A file cannot be read.
pub fn fingerprint(files: &[&Path]) -> Result<String, XtaskError> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        fs::read(file)
            .map_err(XtaskError::io(*file))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_entry_is_filled_once() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let fill =
            |folder: &Path| fs::write(folder.join("tool"), "1").map_err(XtaskError::io(folder));
        let folder = cache.entry("tool-1.0", fill).unwrap();
        let again = cache.entry("tool-1.0", |_| panic!("filled twice")).unwrap();
        assert_eq!(folder, again);
        assert_eq!(fs::read_to_string(folder.join("tool")).unwrap(), "1");
    }

    #[test]
    fn an_interrupted_entry_is_filled_again() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let interrupted = cache.entry("tool-1.0", |folder| {
            fs::write(folder.join("half"), "").unwrap();
            Err(XtaskError::NoTests)
        });
        assert!(interrupted.is_err());
        let folder = cache.entry("tool-1.0", |_| Ok(())).unwrap();
        assert!(!folder.join("half").exists());
    }

    #[test]
    fn a_fingerprint_changes_with_the_contents() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("lock");
        let of = |text: &str| {
            fs::write(&file, text).unwrap();
            fingerprint(&[&file]).unwrap()
        };
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
    }
}
