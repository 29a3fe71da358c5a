//! Reads the modules of one crate, as its files declare them. The module `names` resolves the paths
//! in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::XtaskError;

/// The segments of a path as it is written.
pub(super) type Segments = Vec<String>;

/// The index of a module in one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleIndex(usize);

/// The modules of a crate. The first one is the crate's root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    modules: Vec<Module>,
}

/// The declarations and names of one module, without code that only tests compile.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The file of the module. An inline module has its parent's file.
    pub(super) file: PathBuf,
    pub(super) parent: Option<ModuleIndex>,
    pub(super) children: BTreeMap<String, ModuleIndex>,
    /// The items that the module defines itself.
    pub(super) items: BTreeSet<String>,
    /// Imports and re-exports, by their names in the module.
    pub(super) imports: BTreeMap<String, Segments>,
    /// The paths of the imports, without the re-exports.
    pub(super) used: BTreeSet<Segments>,
    /// The modules that are imported with `*`.
    pub(super) globs: Vec<Segments>,
    /// The paths and names in the code, including the `use` inside functions.
    pub(super) paths: BTreeSet<Segments>,
}

impl Tree {
    /// Reads a crate from its root file.
    ///
    /// # Errors
    /// A file cannot be read or is not valid Rust, or a declared module has no file.
    pub(super) fn read(root: &Path) -> Result<Self, XtaskError> {
        let mut tree = Self::default();
        let folder = root.parent().unwrap_or(Path::new(""));
        let root = tree.add(root.to_owned(), None);
        tree.read_file(root, folder)?;
        Ok(tree)
    }

    pub(super) fn root(&self) -> ModuleIndex {
        ModuleIndex(0)
    }

    pub(super) fn get(&self, index: ModuleIndex) -> Option<&Module> {
        self.modules.get(index.0)
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = ModuleIndex> {
        (0..self.modules.len()).map(ModuleIndex)
    }

    /// Iterates over a module and all its ancestors.
    pub(super) fn way_up(&self, from: ModuleIndex) -> impl Iterator<Item = &Module> {
        let parent = |module: &&Module| module.parent.and_then(|parent| self.get(parent));
        std::iter::successors(self.get(from), parent)
    }

    fn add(&mut self, file: PathBuf, parent: Option<ModuleIndex>) -> ModuleIndex {
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        ModuleIndex(self.modules.len().saturating_sub(1))
    }

    /// Reads the file of a module. The files of its children are in `folder`.
    fn read_file(&mut self, module: ModuleIndex, folder: &Path) -> Result<(), XtaskError> {
        let Some(file) = self.get(module).map(|module| module.file.clone()) else {
            return Ok(());
        };
        let text = fs::read_to_string(&file).map_err(XtaskError::io(&file))?;
        let parsed =
            syn::parse_file(&text).map_err(|source| XtaskError::Syntax { path: file, source })?;
        self.read_items(module, &parsed.items, folder)
    }

    fn read_items(
        &mut self,
        module: ModuleIndex,
        items: &[Item],
        folder: &Path,
    ) -> Result<(), XtaskError> {
        for item in items {
            let tokens = item.to_token_stream();
            if is_for_tests(&tokens) {
                continue;
            }
            if let Item::Mod(child) = item {
                self.read_child(module, child, folder)?;
                continue;
            }
            let Some(module) = self.modules.get_mut(module.0) else {
                continue;
            };
            if let Item::Use(import) = item {
                let is_own = matches!(import.vis, Visibility::Inherited);
                module.import(&import.tree, is_own, &mut Vec::new());
                continue;
            }
            module.items.extend(name_of(item));
            paths_in(tokens, &[], &mut module.paths);
        }
        Ok(())
    }

    fn read_child(
        &mut self,
        parent: ModuleIndex,
        child: &ItemMod,
        folder: &Path,
    ) -> Result<(), XtaskError> {
        let name = child.ident.to_string();
        let below = folder.join(&name);
        let inline = child.content.as_ref().map(|(_, items)| items);
        let file = match (inline, path_attribute(&child.attrs)) {
            (Some(_), _) => self.get(parent).map(|parent| parent.file.clone()),
            (None, Some(path)) => Some(folder.join(path)),
            (None, None) => Some(below.with_extension("rs")),
        };
        let index = self.add(file.unwrap_or_default(), Some(parent));
        if let Some(parent) = self.modules.get_mut(parent.0) {
            parent.children.insert(name, index);
        }
        match inline {
            Some(items) => self.read_items(index, items, &below),
            None => self.read_file(index, &below),
        }
    }
}

impl Module {
    /// Adds the declarations of a `use`. `before` is the path up to here.
    fn import(&mut self, tree: &UseTree, is_own: bool, before: &mut Segments) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, is_own, before);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, is_own, before);
                }
            }
            UseTree::Glob(_) => self.globs.push(before.clone()),
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.bring_in(name.clone(), &name, is_own, before);
            }
            UseTree::Rename(renamed) => {
                let name = renamed.ident.to_string();
                let here = match renamed.rename.to_string() {
                    // A trait that is imported as `_` has no name here, but it is used.
                    hidden if hidden == "_" => format!("_ {}::{name}", before.join("::")),
                    named => named,
                };
                self.bring_in(here, &name, is_own, before);
            }
        }
    }

    /// Adds one imported name. `use a::{self}` imports `a` itself.
    fn bring_in(&mut self, here: String, name: &str, is_own: bool, before: &[String]) {
        let mut path = before.to_vec();
        let mut here = here;
        if name == "self" && !path.is_empty() {
            if here == "self" {
                here = path.last().cloned().unwrap_or_default();
            }
        } else {
            path.push(name.to_owned());
        }
        if is_own {
            self.used.insert(path.clone());
        }
        self.imports.insert(here, path);
    }
}

/// Whether an item has the attribute `#[test]`, or a `#[cfg]` that names `test`.
fn is_for_tests(item: &TokenStream) -> bool {
    let mut tokens = item.clone().into_iter();
    while let Some(TokenTree::Punct(_)) = tokens.next() {
        let Some(TokenTree::Group(attribute)) = tokens.next() else {
            return false;
        };
        let text = attribute.stream().to_string();
        let words: Vec<&str> = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .collect();
        let [first, rest @ ..] = words.as_slice() else {
            continue;
        };
        if *first == "test" || (*first == "cfg" && rest.contains(&"test") && !rest.contains(&"not"))
        {
            return true;
        }
    }
    false
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let value = &attribute.meta.require_name_value().ok()?;
        let text = value.value.to_token_stream().to_string();
        let is_path = value.path.is_ident("path");
        is_path.then(|| text.trim_matches('"').to_owned())
    })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects every path in some code, including single names and the input of macros. A group after
/// `::` belongs to a `use`. Then `before` is the path to the group.
fn paths_in(tokens: TokenStream, before: &[String], paths: &mut BTreeSet<Segments>) {
    let mut path = before.to_vec();
    let mut colons = 0_u8;
    for token in tokens {
        let is_continued = colons == 2;
        if matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ':') {
            colons = colons.saturating_add(1);
            continue;
        }
        colons = 0;
        if !is_continued {
            end(&mut path, before, paths);
        }
        match token {
            TokenTree::Ident(name) => path.push(name.to_string()),
            TokenTree::Group(group) => {
                let way = if is_continued { path.as_slice() } else { &[] };
                paths_in(group.stream(), way, paths);
                path.truncate(before.len());
            }
            _ => end(&mut path, before, paths),
        }
    }
    end(&mut path, before, paths);
}

/// Adds a path when it ends, unless it equals `before`.
fn end(path: &mut Segments, before: &[String], paths: &mut BTreeSet<Segments>) {
    if path.len() > before.len() {
        paths.insert(path.clone());
    }
    path.truncate(before.len());
}
