//! `#[server]`: the methods of an `impl` block as handlers that share their state.
//!
//! The methods do not change. The macro adds an implementation of `HandlerSet`, which puts the value into an `Arc` and
//! registers one closure per marked method. A type has one such block. Further blocks are its parts: each adds a function
//! that registers its handlers, and the first block names the parts and calls these functions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Error, ImplItem, ImplItemFn, ItemImpl, LitStr, Meta, Result, Type};

use crate::attributes::{CratePath, Entries, is_named};
use crate::definition::{self, Definition};
use crate::handler::{Callee, Handler};
use crate::parameters::Errors;

/// The keys of `#[server]`.
const KEYS: &[&str] = &["name", "version", "parts", "part", "crate"];

/// Expands `#[server(attribute)]` on the block in `item`.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(mut block) = syn::parse2::<ItemImpl>(item.clone()) else {
        let message = "`#[server]` requires an `impl` block";
        let error = Error::new(Span::call_site(), message).into_compile_error();
        return quote!(#error #item);
    };
    let generated = generate(attribute, &mut block).unwrap_or_else(Error::into_compile_error);
    quote!(#block #generated)
}

fn generate(attribute: TokenStream, block: &mut ItemImpl) -> Result<TokenStream> {
    let mut errors = Errors::default();
    let mut entries = errors
        .ok_or_add(Entries::parse(attribute, "`#[server]`", KEYS))
        .unwrap_or_default();
    let crate_path = entries.take_crate()?;
    if let Some((path, _)) = &block.trait_ {
        errors.add(Error::new_spanned(
            path,
            "`#[server]` requires an inherent `impl` block, without a trait",
        ));
    }
    let self_type = block.self_ty.clone();
    let mut registrations = Vec::new();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item {
            let registration = register(method, &self_type, &crate_path);
            registrations.extend(errors.ok_or_add(registration).flatten());
        }
    }
    let block_kind = errors.ok_or_add(BlockKind::take(&mut entries, block));
    errors.finish(())?;
    let Some(block_kind) = block_kind else {
        return Ok(TokenStream::new());
    };

    let private = crate_path.private();
    let mut generics = block.generics.clone();
    if !generics.params.is_empty() {
        // Handlers are shared between threads. With this bound, a missing `Send` is an error at the use of the type, not
        // in the generated code.
        generics
            .make_where_clause()
            .predicates
            .push(syn::parse_quote! {
                #self_type: ::core::marker::Send + ::core::marker::Sync + 'static
            });
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    Ok(match block_kind {
        BlockKind::Part { register } => quote! {
            impl #impl_generics #self_type #where_clause {
                #[allow(unused_variables)]
                pub(crate) fn #register(
                    __handlers: &::std::sync::Arc<Self>,
                    __server: #private::Server,
                ) -> #private::Server {
                    let __handlers = ::std::sync::Arc::clone(__handlers);
                    #(#registrations)*
                    __server
                }
            }
        },
        BlockKind::Main { into_server, parts } => {
            let into_server = into_server.generate(&private);
            let only_one = Ident::new(ONLY_ONE_BLOCK, Span::call_site());
            quote! {
                #[automatically_derived]
                impl #impl_generics #private::HandlerSet for #self_type #where_clause {
                    #[allow(unused_variables)]
                    fn register(self, __server: #private::Server) -> #private::Server {
                        let __handlers = ::std::sync::Arc::new(self);
                        #(#registrations)*
                        #(let __server = Self::#parts(&__handlers, __server);)*
                        __server
                    }
                }

                impl #impl_generics #self_type #where_clause {
                    #into_server

                    #[doc(hidden)]
                    #[allow(dead_code, non_upper_case_globals)]
                    const #only_one: () = ();
                }
            }
        }
    })
}

/// The name of a constant of each block that is not a part. If a type has two such blocks, the compiler reports the name
/// as a duplicate definition. The name therefore says what to do.
const ONLY_ONE_BLOCK: &str = "write_server_part_on_all_but_one_of_the_blocks";

/// What a block of handlers is for its type.
enum BlockKind {
    /// The block that implements `HandlerSet`. `parts` are the functions that register the handlers of other blocks.
    Main {
        into_server: IntoServer,
        parts: Vec<Ident>,
    },
    /// A further block, with the name of the function that registers its handlers.
    Part { register: Ident },
}

impl BlockKind {
    fn take(entries: &mut Entries, block: &ItemImpl) -> Result<Self> {
        let Some(part) = entries.take_text("part")? else {
            let parts = entries.take_texts("parts")?;
            return Ok(Self::Main {
                into_server: IntoServer::take(entries, block)?,
                parts: parts.iter().map(register_function).collect::<Result<_>>()?,
            });
        };
        for key in ["name", "version", "parts"] {
            if let Some(span) = entries.span(key) {
                let message = format!(
                    "`{key}` belongs to the `#[server]` block of the type that has no `part`"
                );
                return Err(Error::new(span, message));
            }
        }
        Ok(Self::Part {
            register: register_function(&part)?,
        })
    }
}

/// Returns the name of the function that registers the handlers of a part.
fn register_function(part: &LitStr) -> Result<Ident> {
    let name = part.value();
    let is_word =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if name.is_empty() || !name.chars().all(is_word) {
        let message = "the name of a part consists of lower case letters, digits and `_`";
        return Err(Error::new_spanned(part, message));
    }
    // The span of the name, so that the compiler shows a part that does not exist, or that no block names.
    Ok(Ident::new(
        &format!("register_{name}_handlers"),
        part.span(),
    ))
}

/// Returns the statement that registers `method`, or `None` if the method is not marked.
fn register(
    method: &mut ImplItemFn,
    self_type: &Type,
    crate_path: &CratePath,
) -> Result<Option<TokenStream>> {
    let mut handler_attributes: Vec<(&Definition, Attribute)> = Vec::new();
    for definition in definition::ALL {
        let named = |attribute: &mut Attribute| is_named(attribute, definition.attribute);
        handler_attributes.extend(
            method
                .attrs
                .extract_if(.., named)
                .map(|attribute| (definition, attribute)),
        );
    }
    let mut handler_attributes = handler_attributes.into_iter();
    let Some((definition, attribute)) = handler_attributes.next() else {
        return Ok(None);
    };

    // Each call owns its arguments, so handlers usually take them by value.
    method
        .attrs
        .push(syn::parse_quote!(#[allow(clippy::needless_pass_by_value)]));
    let handler = Handler::take(
        definition.subject,
        crate_path.clone(),
        &method.attrs,
        &mut method.sig,
        Callee::Method(Box::new(self_type.clone())),
    );
    if let Some((_, second)) = handler_attributes.next() {
        return Err(Error::new_spanned(
            &second,
            "a method can have only one handler attribute: remove the others",
        ));
    }
    let title = format!("`#[{}]`", definition.attribute);
    let keys: Vec<&str> = definition
        .keys
        .iter()
        .copied()
        .filter(|key| *key != "crate")
        .collect();
    let tokens = match attribute.meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    let entries = Entries::parse(tokens, &title, &keys)?;
    let new_handler = (definition.handler_expression)(entries, handler?)?;
    let register = format_ident!("{}", definition.attribute);
    // A method that `cfg` removes is not registered either.
    let conditions = method
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    Ok(Some(quote! {
        #(#conditions)*
        let __server = __server.#register(#new_handler);
    }))
}

/// The method `into_server`: the name of its server, and an expression for the version.
struct IntoServer {
    name: String,
    version: TokenStream,
}

impl IntoServer {
    fn take(entries: &mut Entries, block: &ItemImpl) -> Result<Self> {
        let name = match entries.take_text("name")? {
            Some(name) => name.value(),
            None => kebab_case(&type_name(&block.self_ty)?),
        };
        let version = match entries.take_text("version")? {
            Some(version) => quote!(#version),
            None => quote!(::core::env!("CARGO_PKG_VERSION")),
        };
        Ok(Self { name, version })
    }

    fn generate(&self, private: &TokenStream) -> TokenStream {
        let Self { name, version } = self;
        let docs = format!("Creates a server named `{name}` with these handlers.");
        quote! {
            #[doc = #docs]
            #[allow(dead_code)]
            #[must_use]
            pub fn into_server(self) -> #private::Server {
                #private::Server::new(#name, #version).handlers(self)
            }
        }
    }
}

fn type_name(ty: &Type) -> Result<String> {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string()),
        _ => None,
    }
    .ok_or_else(|| Error::new_spanned(ty, "give the server a name: `#[server(name = \"…\")]`"))
}

/// Converts a type name to kebab case: `HTTPNotes2` becomes `http-notes2`.
fn kebab_case(name: &str) -> String {
    let letters: Vec<char> = name.trim_matches('_').chars().collect();
    let mut kebab = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        let starts_word = index > 0
            && letter.is_uppercase()
            && (!letters[index - 1].is_uppercase()
                || letters
                    .get(index + 1)
                    .is_some_and(|next| next.is_lowercase()));
        if starts_word && !kebab.ends_with('-') {
            kebab.push('-');
        }
        if letter == '_' {
            kebab.push('-');
        } else {
            kebab.extend(letter.to_lowercase());
        }
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert_eq!(kebab_case(name), expected);
    }

    #[test]
    fn server_name_is_the_type_name_in_kebab_case() {
        check("Notes", "notes");
        check("NoteServer", "note-server");
        check("HTTPNotes2", "http-notes2");
        check("Snake_Case", "snake-case");
        check("A", "a");
    }
}
