//! Files that only their owner may read. They are created whole and never overwritten.
//!
//! The functions order the writes so that a process may end at any point: a file is then missing or
//! whole. They do not know the content.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use alloy_primitives::hex;

use crate::CustodyError;

/// The prefix of a file's name until it is complete.
const PARTIAL: &str = "partial-";

/// A partial file of this age is no longer being written.
const ABANDONED: Duration = Duration::from_secs(600);

/// The largest file that is read, in bytes. Ours have less than one of its hundredths.
const MOST_BYTES: u64 = 1 << 20;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// An effect on the disk, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    CreatePartial,
    WritePartial,
    SyncPartial,
    Link,
    SyncFolder,
    RemovePartial,
    Rename,
}

/// Creates the folder if it is missing. Refuses one that other users may access.
pub(super) fn folder(path: &Path) -> Result<(), CustodyError> {
    if !path.exists() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
        builder
            .create(path)
            .map_err(CustodyError::io("create the folder of the wallets"))?;
    }
    let metadata =
        fs::metadata(path).map_err(CustodyError::io("read the folder of the wallets"))?;
    private(&metadata, FOLDER_MODE, "the folder of the wallets")
}

/// The text of a file; `None` when there is none. The file's name is on disk when this returns.
pub(super) fn read(folder: &Path, name: &str) -> Result<Option<String>, CustodyError> {
    let text = read_settled(folder, name)?;
    if text.is_some() {
        // The process that linked it may not have reached this step.
        settle(folder)?;
    }
    Ok(text)
}

/// The text of a file whose name is known to be on disk; `None` when there is none.
pub(super) fn read_settled(folder: &Path, name: &str) -> Result<Option<String>, CustodyError> {
    let path = folder.join(name);
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CustodyError::io(READING)(error)),
    };
    private(&metadata, FILE_MODE, name)?;
    if metadata.len() > MOST_BYTES {
        return Err(CustodyError::io(READING)(io::ErrorKind::InvalidData.into()));
    }
    let text = fs::read_to_string(&path).map_err(CustodyError::io(READING))?;
    Ok(Some(text))
}

/// Brings the names of all files to disk.
pub(super) fn settle(folder: &Path) -> Result<(), CustodyError> {
    sync_folder(folder).map_err(CustodyError::io("bring the folder of the wallets to disk"))
}

const READING: &str = "read a wallet";

/// Whether there is a file of this name.
pub(super) fn exists(folder: &Path, name: &str) -> io::Result<bool> {
    fs::exists(folder.join(name))
}

/// Creates a file, unless its name exists. `before` is called before each effect; its failure ends
/// the work, like the end of the process would.
pub(super) fn publish(
    folder: &Path,
    name: &str,
    text: &str,
    mut before: impl FnMut(Effect) -> io::Result<()>,
) -> io::Result<()> {
    let partial = write_partial(folder, text, &mut before)?;
    before(Effect::Link)?;
    match fs::hard_link(&partial, folder.join(name)) {
        Ok(()) => {}
        // Another process was first, and its file counts.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    before(Effect::SyncFolder)?;
    sync_folder(folder)?;
    before(Effect::RemovePartial)?;
    fs::remove_file(&partial)
}

/// Puts a file in the place of another one, which stays under the free name `kept`. The name has
/// one of the two at every moment. `before` is called before each effect, as in [`publish`].
pub(super) fn replace(
    folder: &Path,
    name: &str,
    text: &str,
    kept: &str,
    mut before: impl FnMut(Effect) -> io::Result<()>,
) -> io::Result<()> {
    let partial = write_partial(folder, text, &mut before)?;
    before(Effect::Link)?;
    fs::hard_link(folder.join(name), folder.join(kept))?;
    before(Effect::SyncFolder)?;
    sync_folder(folder)?;
    before(Effect::Rename)?;
    fs::rename(&partial, folder.join(name))?;
    before(Effect::SyncFolder)?;
    sync_folder(folder)
}

/// Brings a new partial file to disk. Returns its path.
fn write_partial(
    folder: &Path,
    text: &str,
    before: &mut impl FnMut(Effect) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let partial = folder.join(format!("{PARTIAL}{}", hex::encode(random)));
    before(Effect::CreatePartial)?;
    let mut file = new_file(&partial)?;
    before(Effect::WritePartial)?;
    file.write_all(text.as_bytes())?;
    before(Effect::SyncPartial)?;
    file.sync_all()?;
    Ok(partial)
}

/// Removes partial files of processes that ended while they wrote.
pub(super) fn sweep(folder: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PARTIAL) {
            continue;
        }
        let written = entry.metadata()?.modified()?;
        if now.duration_since(written).is_ok_and(|age| age > ABANDONED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The names of the complete files.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with(PARTIAL) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options.open(path)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn private(metadata: &fs::Metadata, expected: u32, what: &str) -> Result<(), CustodyError> {
    use std::os::unix::fs::PermissionsExt as _;

    let observed = metadata.permissions().mode() & 0o777;
    if observed & !expected == 0 {
        return Ok(());
    }
    Err(CustodyError::Permissions {
        what: what.to_owned(),
        expected,
        observed,
    })
}

#[cfg(not(unix))]
fn private(_: &fs::Metadata, _: u32, _: &str) -> Result<(), CustodyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFECTS: [Effect; 6] = [
        Effect::CreatePartial,
        Effect::WritePartial,
        Effect::SyncPartial,
        Effect::Link,
        Effect::SyncFolder,
        Effect::RemovePartial,
    ];

    /// A process that ends before an effect.
    fn killed_before(effect: Effect) -> impl FnMut(Effect) -> io::Result<()> {
        move |next| match next == effect {
            true => Err(io::Error::other("killed")),
            false => Ok(()),
        }
    }

    #[test]
    fn a_process_that_ends_before_any_effect_leaves_nothing_or_the_whole_file() {
        for effect in EFFECTS {
            let folder = tempfile::tempdir().unwrap();
            publish(folder.path(), "a", "first", killed_before(effect)).unwrap_err();
            let left = names(folder.path()).unwrap();
            let linked = matches!(effect, Effect::SyncFolder | Effect::RemovePartial);
            assert_eq!(left.is_empty(), !linked, "{effect:?}: {left:?}");
            if linked {
                assert_eq!(read(folder.path(), "a").unwrap().as_deref(), Some("first"));
            }
            // The next file is the only one if there was none, and otherwise changes nothing.
            publish(folder.path(), "a", "second", |_| Ok(())).unwrap();
            let stored = if linked { "first" } else { "second" };
            assert_eq!(read(folder.path(), "a").unwrap().as_deref(), Some(stored));
            assert_eq!(names(folder.path()).unwrap(), ["a"]);

            // Half-written files are removed after a while, and nothing else is.
            sweep(folder.path(), SystemTime::now()).unwrap();
            sweep(folder.path(), SystemTime::now() + ABANDONED * 2).unwrap();
            let files = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!((files, names(folder.path()).unwrap().len()), (1, 1));
        }
    }

    #[test]
    fn a_process_that_ends_while_it_replaces_a_file_leaves_the_old_one_or_the_new_one() {
        for effect in [
            Effect::CreatePartial,
            Effect::WritePartial,
            Effect::SyncPartial,
            Effect::Link,
            Effect::SyncFolder,
            Effect::Rename,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            publish(path, "a", "old", |_| Ok(())).unwrap();
            replace(path, "a", "new", "kept-1", killed_before(effect)).unwrap_err();
            assert_eq!(read(path, "a").unwrap().as_deref(), Some("old"));
            replace(path, "a", "new", "kept-2", |_| Ok(())).unwrap();
            assert_eq!(read(path, "a").unwrap().as_deref(), Some("new"));
            assert_eq!(read(path, "kept-2").unwrap().as_deref(), Some("old"));
            // Nothing that is kept is ever overwritten.
            replace(path, "a", "newer", "kept-2", |_| Ok(())).unwrap_err();
            assert_eq!(read(path, "a").unwrap().as_deref(), Some("new"));
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let text = "a".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
        publish(folder.path(), "a", &text, |_| Ok(())).unwrap();
        assert_eq!(read(folder.path(), "a").unwrap_err().code(), "custody_io");
    }

    #[test]
    fn of_many_that_publish_at_once_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || {
                    publish(path, "a", &format!("text {number}"), |_| Ok(())).unwrap();
                    read(path, "a").unwrap().unwrap()
                });
            }
        });
        let stored = read(path, "a").unwrap().unwrap();
        publish(path, "a", "later", |_| Ok(())).unwrap();
        assert_eq!(read(path, "a").unwrap().unwrap(), stored);
        assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn folder_and_files_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;

        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("wallets");
        folder(&path).unwrap();
        publish(&path, "a", "text", |_| Ok(())).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("a"))), (0o700, 0o600));

        fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(read(&path, "a").unwrap_err().code(), "custody_permissions");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(folder(&path).unwrap_err().code(), "custody_permissions");
    }
}
