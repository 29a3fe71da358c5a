//! Writes the public items of modules as text. The module `walk` has read them.

use std::collections::BTreeSet;
use std::mem;

use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Expr, Field, Fields, File, FnArg, ImplItem, Item, ItemImpl, ItemTrait, Meta,
    Pat, Signature, Token, TraitItem, Visibility,
};

use super::walk::Module;

/// The first line of every file.
const HEADER: &str = "// The public interface of this crate. `cargo xtask api` writes this file.\n";

/// The type that stands for the types of private fields.
const PRIVATE: &str = "Private";

/// Writes modules in their order, and the items of each module in the order of their text.
pub(super) fn text(modules: &[Module]) -> String {
    let hidden = hidden_types(modules);
    let mut text = HEADER.to_owned();
    for module in modules {
        let items = module.items.iter().cloned();
        let mut items: Vec<String> = items.filter_map(|item| rendered(item, &hidden)).collect();
        items.sort_by(|a, b| (declaration(a), a).cmp(&(declaration(b), b)));
        if !items.is_empty() {
            text.push_str(&format!("\n// crate{}\n\n", module.path));
            text.push_str(&items.concat());
        }
    }
    text
}

/// Returns the names of types and traits that are private everywhere in the crate.
fn hidden_types(modules: &[Module]) -> BTreeSet<String> {
    let (mut public, mut private) = (BTreeSet::new(), BTreeSet::new());
    for item in modules.iter().flat_map(|module| &module.items) {
        let (vis, ident) = match item {
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Trait(item) => (&item.vis, &item.ident),
            Item::Type(item) => (&item.vis, &item.ident),
            Item::Union(item) => (&item.vis, &item.ident),
            _ => continue,
        };
        let names = if is_public(vis) {
            &mut public
        } else {
            &mut private
        };
        names.insert(ident.to_string());
    }
    &private - &public
}

/// Writes one item. `None` when it is not public.
fn rendered(mut item: Item, hidden: &BTreeSet<String>) -> Option<String> {
    match &mut item {
        Item::Const(item) if is_public(&item.vis) => {
            short(&mut item.expr);
            keep_attributes(&mut item.attrs);
        }
        Item::Static(item) if is_public(&item.vis) => {
            short(&mut item.expr);
            keep_attributes(&mut item.attrs);
        }
        Item::Type(item) if is_public(&item.vis) => keep_attributes(&mut item.attrs),
        Item::Use(item) if is_public(&item.vis) => keep_attributes(&mut item.attrs),
        Item::Enum(item) if is_public(&item.vis) => {
            keep_attributes(&mut item.attrs);
            for variant in &mut item.variants {
                keep_attributes(&mut variant.attrs);
                for field in variant.fields.iter_mut() {
                    field.attrs.clear();
                }
            }
        }
        Item::Struct(item) if is_public(&item.vis) => {
            keep_attributes(&mut item.attrs);
            public_fields(&mut item.fields);
        }
        Item::Fn(item) if is_public(&item.vis) => {
            keep_attributes(&mut item.attrs);
            bare(&mut item.sig, Some(&mut item.block));
        }
        Item::Trait(item) if is_public(&item.vis) => public_trait(item),
        Item::Impl(item) => return public_impl(item, hidden),
        // Either an exported definition, or a call that may define public items.
        Item::Macro(item) if item.ident.is_none() || exported(&item.attrs) => {
            keep_attributes(&mut item.attrs)
        }
        _ => return None,
    }
    let is_trait = matches!(item, Item::Trait(_));
    let text = print(item);
    let lines = text.lines().filter(|line| !is_doc(line));
    let body = if is_trait { " { .. }" } else { ";" };
    Some(lines.map(|line| without_body(line, body) + "\n").collect())
}

/// Returns the line with the name of an item. Attributes come before it.
fn declaration(text: &str) -> Option<&str> {
    text.lines()
        .find(|line| line.starts_with(char::is_alphabetic))
}

fn public_trait(item: &mut ItemTrait) {
    keep_attributes(&mut item.attrs);
    for member in &mut item.items {
        match member {
            TraitItem::Fn(member) => {
                keep_attributes(&mut member.attrs);
                bare(&mut member.sig, member.default.as_mut());
            }
            TraitItem::Type(member) => keep_attributes(&mut member.attrs),
            TraitItem::Const(member) => keep_attributes(&mut member.attrs),
            _ => {}
        }
    }
}

/// Keeps the head and the types of a trait's implementation, and the public members of another one.
fn public_impl(item: &mut ItemImpl, hidden: &BTreeSet<String>) -> Option<String> {
    keep_attributes(&mut item.attrs);
    let members = mem::take(&mut item.items);
    let head = print(Item::Impl(item.clone()));
    let names = head.split(|c: char| !c.is_alphanumeric() && c != '_');
    if names.into_iter().any(|name| hidden.contains(name)) {
        return None;
    }
    let of_trait = item.trait_.is_some();
    item.items = members
        .into_iter()
        .filter_map(|member| public_member(member, of_trait))
        .collect();
    if item.items.is_empty() && !of_trait {
        return None;
    }
    let text = print(Item::Impl(item.clone()));
    let mut lines = text.lines().map(|line| {
        // The head of an empty implementation ends with `{}`, as an empty body does.
        if line.starts_with("impl") {
            line.to_owned() + "\n"
        } else {
            without_body(line, ";") + "\n"
        }
    });
    Some(lines.by_ref().collect())
}

fn public_member(mut member: ImplItem, of_trait: bool) -> Option<ImplItem> {
    match &mut member {
        ImplItem::Type(member) if of_trait => keep_attributes(&mut member.attrs),
        ImplItem::Const(member) if is_public(&member.vis) => {
            keep_attributes(&mut member.attrs);
            short(&mut member.expr);
        }
        ImplItem::Fn(member) if is_public(&member.vis) => {
            keep_attributes(&mut member.attrs);
            bare(&mut member.sig, Some(&mut member.block));
        }
        _ => return None,
    }
    Some(member)
}

/// Keeps public fields. One field named `private` stands for all others.
fn public_fields(fields: &mut Fields) {
    for field in fields.iter_mut() {
        field.attrs.clear();
        if !is_public(&field.vis) {
            field.vis = Visibility::Inherited;
            if let Ok(private) = syn::parse_str(PRIVATE) {
                field.ty = private;
            }
        }
    }
    if let Fields::Named(named) = fields {
        let (public, private): (Vec<Field>, Vec<Field>) = mem::take(&mut named.named)
            .into_iter()
            .partition(|field| is_public(&field.vis));
        let rest = private.into_iter().next().map(|mut field| {
            field.ident = syn::parse_str("private").ok();
            field
        });
        named.named = public
            .into_iter()
            .chain(rest)
            .collect::<Punctuated<_, Token![,]>>();
    }
}

/// Removes a body, and the parts of the signature that only the body uses.
fn bare(signature: &mut Signature, body: Option<&mut Block>) {
    if let Some(body) = body {
        body.stmts.clear();
    }
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(typed) => {
                if let Pat::Ident(ident) = &mut *typed.pat {
                    ident.mutability = None;
                }
            }
        }
    }
}

/// Keeps the attributes on which other projects' code depends.
fn keep_attributes(attributes: &mut Vec<Attribute>) {
    const KEPT: [&str; 5] = ["cfg", "derive", "macro_export", "non_exhaustive", "repr"];
    attributes.retain(|attribute| {
        let path = match &attribute.meta {
            Meta::Path(path) => path,
            Meta::List(list) => &list.path,
            _ => return false,
        };
        KEPT.iter().any(|kept| path.is_ident(kept))
    });
}

/// Keeps a value that is one literal, and replaces any other one by `_`. Tables are not part of an
/// interface.
fn short(value: &mut Expr) {
    if !matches!(value, Expr::Lit(_))
        && let Ok(placeholder) = syn::parse_str("_")
    {
        *value = placeholder;
    }
}

fn exported(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("macro_export"))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn print(item: Item) -> String {
    prettyplease::unparse(&File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items: vec![item],
    })
}

/// Whether a line of a macro's input is documentation.
fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("#[doc")
}

/// Writes an empty body at the end of a line as `body`.
fn without_body(line: &str, body: &str) -> String {
    match line.strip_suffix("{}") {
        Some(signature) => signature.trim_end().to_owned() + body,
        None => line.to_owned(),
    }
}
