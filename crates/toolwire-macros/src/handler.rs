//! A handler function: the checks of its signature, and the generated code that calls it.
//!
//! Names in generated code start with two underscores, so that they do not conflict with names of the user.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::VisitMut as _;
use syn::{Attribute, Error, FnArg, ReceiverKind, Result, ReturnType, Safety, Signature, Type};

use crate::attributes::CratePath;
use crate::docs;
use crate::kinds;
use crate::parameters::{self, Parameter};
use crate::self_type::ReplaceSelf;

/// A checked handler function without the attributes of the macros.
pub(crate) struct Handler {
    pub(crate) crate_path: CratePath,
    /// The name of the function, which is also the default name of the handler.
    pub(crate) ident: Ident,
    /// The doc comment.
    pub(crate) description: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) is_async: bool,
    /// The span of errors about the returned value.
    pub(crate) output_span: Span,
    /// Whether the return type is written as a `Result`.
    pub(crate) is_fallible: bool,
    callee: Callee,
}

/// The function that generated code calls.
pub(crate) enum Callee {
    /// `name::call`, which contains the body of a free function.
    Free,
    /// `Self::name` of the type of a `#[server]` block.
    Method(Box<Type>),
}

/// The terms and keys of a macro's handlers.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    /// The noun in error messages, such as `a tool`.
    pub(crate) noun: &'static str,
    /// The name of `#[arg]` on its parameters in error messages.
    pub(crate) argument_attribute: &'static str,
    /// The keys of `#[arg]`.
    pub(crate) argument_keys: &'static [&'static str],
}

impl Handler {
    /// Checks the function and removes the attributes of the macros from its parameters.
    pub(crate) fn take(
        subject: Subject,
        crate_path: CratePath,
        attributes: &[Attribute],
        signature: &mut Signature,
        callee: Callee,
    ) -> Result<Self> {
        // Parameters first: the emitted function must not contain `#[arg]`, even if a later check fails.
        let parameters = parameters::take_parameters(
            signature,
            subject.argument_attribute,
            subject.argument_keys,
        );
        check_signature(subject, signature, &callee)?;
        let mut parameters = parameters?;
        if let Callee::Method(self_type) = &callee {
            let mut replace = ReplaceSelf::new(self_type);
            for parameter in &mut parameters {
                if let Parameter::Argument(argument) = parameter {
                    replace.visit_type_mut(&mut argument.owned);
                    if let Some(default) = &mut argument.default {
                        replace.visit_expr_mut(default);
                    }
                }
            }
        }
        let output_span = match &signature.output {
            ReturnType::Default => signature.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        let is_fallible =
            matches!(&signature.output, ReturnType::Type(_, ty) if kinds::is_called(ty, "Result"));
        Ok(Self {
            crate_path,
            ident: signature.ident.clone(),
            description: docs::description(attributes),
            parameters,
            is_async: signature.asyncness.is_some(),
            output_span,
            is_fallible,
            callee,
        })
    }

    /// Returns the default name of the handler.
    pub(crate) fn default_name(&self) -> String {
        syn::ext::IdentExt::unraw(&self.ident).to_string()
    }

    /// Returns the expression that calls the function with one value per argument, and awaits an async function.
    pub(crate) fn call(&self, values: &[TokenStream]) -> TokenStream {
        let mut values = values.iter();
        let mut passed: Vec<TokenStream> = Vec::new();
        for parameter in &self.parameters {
            passed.push(match parameter {
                Parameter::Context { by_reference: true } => quote!(&__context),
                Parameter::Context {
                    by_reference: false,
                } => quote!(__context),
                Parameter::Argument(argument) => {
                    argument.pass(values.next().expect("there is one value per argument"))
                }
            });
        }
        let ident = &self.ident;
        let call = match self.callee {
            Callee::Free => quote!(#ident::call(#(#passed),*)),
            Callee::Method(_) => quote!(Self::#ident(&__handlers, #(#passed),*)),
        };
        if self.is_async {
            quote!(#call.await)
        } else {
            call
        }
    }

    /// Returns a closure over the request context and `inputs` that returns the future of `body`.
    pub(crate) fn async_closure(&self, inputs: &TokenStream, body: &TokenStream) -> TokenStream {
        let context = self.context_input();
        let shared = self.clone_handlers();
        quote_spanned! {self.output_span=>
            move |#context, #inputs| {
                #shared
                async move { #body }
            }
        }
    }

    /// Returns a closure over the request context and `inputs` that runs `body` synchronously.
    pub(crate) fn blocking_closure(&self, inputs: &TokenStream, body: &TokenStream) -> TokenStream {
        let context = self.context_input();
        quote_spanned!(self.output_span=> move |#context, #inputs| #body)
    }

    /// Returns the statement that clones the reference to the shared handlers. Empty for a free function.
    pub(crate) fn clone_handlers(&self) -> TokenStream {
        match self.callee {
            Callee::Free => TokenStream::new(),
            Callee::Method(_) => quote!(let __handlers = ::std::sync::Arc::clone(&__handlers);),
        }
    }

    fn context_input(&self) -> TokenStream {
        let private = self.crate_path.private();
        let used = self
            .parameters
            .iter()
            .any(|parameter| matches!(parameter, Parameter::Context { .. }));
        let binding = if used { quote!(__context) } else { quote!(_) };
        quote!(#binding: #private::RequestContext)
    }
}

fn check_signature(subject: Subject, signature: &Signature, callee: &Callee) -> Result<()> {
    let noun = subject.noun;
    let generics = &signature.generics;
    let where_clause = &generics.where_clause;
    if !generics.params.is_empty() || where_clause.is_some() {
        let message = format!("{noun} cannot be generic: clients see one fixed definition of it");
        return Err(Error::new_spanned(quote!(#generics #where_clause), message));
    }
    if !matches!(signature.safety, Safety::Default) {
        let message =
            format!("{noun} cannot be `unsafe`: clients call it with untrusted arguments");
        return Err(Error::new_spanned(&signature.safety, message));
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && let Type::ImplTrait(opaque) = &**ty
    {
        let message =
            format!("{noun} must name its return type: the type determines the conversion");
        return Err(Error::new_spanned(opaque, message));
    }
    check_receiver(noun, signature, callee)
}

fn check_receiver(noun: &str, signature: &Signature, callee: &Callee) -> Result<()> {
    match (callee, signature.inputs.first()) {
        (Callee::Free, Some(FnArg::Receiver(receiver))) => {
            let message = "a method is registered by its `impl` block: put `#[toolwire::server]` on the block";
            Err(Error::new_spanned(receiver, message))
        }
        (Callee::Method(_), Some(FnArg::Receiver(receiver))) => match receiver.kind {
            ReceiverKind::Reference(_, _, None) => Ok(()),
            _ => {
                let message = format!(
                    "{noun} takes `&self`: calls run concurrently, so put shared mutable state in a `Mutex` or \
                     an atomic"
                );
                Err(Error::new_spanned(receiver, message))
            }
        },
        (Callee::Method(_), _) => {
            let message = format!(
                "{noun} of a `#[server]` block takes `&self`; without it, make it a free function"
            );
            Err(Error::new_spanned(&signature.ident, message))
        }
        (Callee::Free, _) => Ok(()),
    }
}
