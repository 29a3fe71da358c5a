//! Reads the modules of a library from its files, without code for tests.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, Meta, Visibility};

use crate::XtaskError;

/// The items of a public module, together with those of the private modules in it. Other projects
/// do not see which private file contains an item.
pub(super) struct Module {
    /// Its path without the crate. Empty for the root.
    pub(super) path: String,
    /// Its items, and those of its private modules.
    pub(super) items: Vec<Item>,
}

/// Reads a library from its root file.
pub(super) fn modules(library: &Path) -> Result<Vec<Module>, XtaskError> {
    let mut modules = vec![Module {
        path: String::new(),
        items: Vec::new(),
    }];
    let folder = library.parent().unwrap_or(Path::new("."));
    collect(parse(library)?, folder, 0, &mut modules)?;
    modules.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(modules)
}

/// Adds items to the module at index `into`. The files of their modules are in `folder`.
fn collect(
    items: Vec<Item>,
    folder: &Path,
    into: usize,
    modules: &mut Vec<Module>,
) -> Result<(), XtaskError> {
    for item in items {
        let Item::Mod(module) = item else {
            if let Some(target) = modules.get_mut(into) {
                target.items.push(item);
            }
            continue;
        };
        if is_for_tests(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let inner = folder.join(&name);
        let content = match module.content {
            Some((_, items)) => items,
            None => parse(&source(folder, &name))?,
        };
        let place = match module.vis {
            Visibility::Public(_) => {
                let outer = modules.get(into).map_or("", |module| module.path.as_str());
                let path = format!("{outer}::{name}");
                modules.push(Module {
                    path,
                    items: Vec::new(),
                });
                modules.len().saturating_sub(1)
            }
            _ => into,
        };
        collect(content, &inner, place, modules)?;
    }
    Ok(())
}

fn source(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.rs"))
}

fn parse(path: &Path) -> Result<Vec<Item>, XtaskError> {
    let text = fs::read_to_string(path).map_err(XtaskError::io(path))?;
    let file = syn::parse_file(&text).map_err(|error| XtaskError::Source {
        path: path.to_owned(),
        detail: error.to_string(),
    })?;
    Ok(file.items)
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}
