//! Splits the parameters of a handler function into the request context and the arguments from the client.
//!
//! This module removes `#[arg]` and doc comments from the signature, because the compiler does not accept them there.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Expr, FnArg, LitStr, Pat, PatType, Result, Signature, Type};

use crate::attributes::Entries;
use crate::docs;
use crate::kinds;

/// One parameter, in the order of the signature.
pub(crate) enum Parameter {
    /// The request context, as `&RequestContext` or by value.
    Context { by_reference: bool },
    /// An argument from the client.
    Argument(Box<Argument>),
}

/// A parameter whose value the client sends.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The owned type of the value: `String` for a parameter of type `&str`.
    pub(crate) owned: Type,
    /// The keys of `#[arg(…)]` that are not taken yet.
    pub(crate) entries: Entries,
    /// The name on the wire.
    pub(crate) name: String,
    /// The text of `#[arg(description = "…")]` or of the doc comment.
    pub(crate) description: Option<String>,
    /// The value to use if the client omits the argument.
    pub(crate) default: Option<Expr>,
    passing: Passing,
}

/// How an owned value is passed to the function.
#[derive(Clone, Copy)]
enum Passing {
    Value,
    Reference,
    OptionalReference,
}

/// Removes the attributes of the macros from `signature` and returns its parameters without the receiver.
pub(crate) fn take_parameters(
    signature: &mut Signature,
    attribute: &str,
    known: &[&str],
) -> Result<Vec<Parameter>> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut errors = Errors::default();
    for input in &mut signature.inputs {
        if let FnArg::Typed(input) = input
            && let Some(parameter) = errors.ok_or_add(take_parameter(input, attribute, known))
        {
            let is_context = |parameter: &Parameter| matches!(parameter, Parameter::Context { .. });
            if is_context(&parameter) && parameters.iter().any(is_context) {
                let message = "the request context is already a parameter of this function";
                errors.add(Error::new_spanned(&input, message));
            }
            parameters.push(parameter);
        }
    }
    errors.finish(parameters)
}

fn take_parameter(input: &mut PatType, attribute: &str, known: &[&str]) -> Result<Parameter> {
    let mut entries = Entries::extract(&mut input.attrs, "arg", attribute, known)?;
    let description = docs::description(&input.attrs);
    input.attrs.retain(|attribute| !docs::is_doc(attribute));
    if let Some(attribute) = input
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("cfg"))
    {
        let message =
            "a parameter cannot depend on `cfg`; write the function once per configuration";
        return Err(Error::new_spanned(attribute, message));
    }

    if let Some(by_reference) = as_context(&input.ty) {
        return Ok(Parameter::Context { by_reference });
    }
    let ident = match &*input.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            pattern.ident.clone()
        }
        pattern => {
            let message = "a parameter needs a plain name: the name is what the client sends";
            return Err(Error::new_spanned(pattern, message));
        }
    };
    let (owned, passing) = owned_type(&input.ty)?;
    let name = match entries.take_text("name")? {
        Some(name) => name.value(),
        None => syn::ext::IdentExt::unraw(&ident).to_string(),
    };
    let description = entries
        .take_text("description")?
        .map(|text: LitStr| text.value())
        .or(description);
    let default = entries.take_optional_expression("default")?.map(|value| {
        value.unwrap_or_else(|| syn::parse_quote!(::core::default::Default::default()))
    });
    Ok(Parameter::Argument(Box::new(Argument {
        ident,
        owned,
        entries,
        name,
        description,
        default,
        passing,
    })))
}

impl Argument {
    /// Returns the expression that passes the owned `value` to the function.
    pub(crate) fn pass(&self, value: &TokenStream) -> TokenStream {
        match self.passing {
            Passing::Value => quote!(#value),
            Passing::Reference => quote!(&#value),
            Passing::OptionalReference => quote!(#value.as_deref()),
        }
    }

    /// Returns `true` if the client may omit the argument.
    pub(crate) fn is_optional(&self) -> bool {
        self.default.is_some() || kinds::option_inner(&self.owned).is_some()
    }
}

/// Returns whether the context is passed by reference, or `None` if the type is not the request context.
fn as_context(ty: &Type) -> Option<bool> {
    match ty {
        Type::Reference(reference) if reference.mutability.is_none() => {
            kinds::is_called(&reference.elem, "RequestContext").then_some(true)
        }
        _ => kinds::is_called(ty, "RequestContext").then_some(false),
    }
}

fn owned_type(ty: &Type) -> Result<(Type, Passing)> {
    if let Type::Reference(reference) = ty {
        if reference.mutability.is_some() {
            let message =
                "a parameter cannot be `&mut`: the change would be lost; take it by value";
            return Err(Error::new_spanned(ty, message));
        }
        return Ok((owned(&reference.elem), Passing::Reference));
    }
    if let Some(Type::Reference(reference)) = kinds::option_inner(ty) {
        if !matches!(&*reference.elem, Type::Slice(_)) && !kinds::is_called(&reference.elem, "str")
        {
            let message = "an optional reference can only be `Option<&str>` or `Option<&[T]>`";
            return Err(Error::new_spanned(ty, message));
        }
        let inner = owned(&reference.elem);
        let optional = syn::parse_quote!(::core::option::Option<#inner>);
        return Ok((optional, Passing::OptionalReference));
    }
    Ok((ty.clone(), Passing::Value))
}

fn owned(borrowed: &Type) -> Type {
    match borrowed {
        Type::Slice(slice) => {
            let element = &slice.elem;
            syn::parse_quote!(::std::vec::Vec<#element>)
        }
        _ if kinds::is_called(borrowed, "str") => syn::parse_quote!(::std::string::String),
        _ => borrowed.clone(),
    }
}

/// Collects errors, so that the compiler reports all of them at once.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Returns the value, or records the error and returns `None`.
    pub(crate) fn ok_or_add<T>(&mut self, outcome: Result<T>) -> Option<T> {
        outcome.map_err(|error| self.add(error)).ok()
    }

    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns the value, or the collected errors.
    pub(crate) fn finish<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
