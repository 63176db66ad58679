//! Parameters that arrive as strings: the arguments of prompts and the variables of resource templates.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Error, Result};

use crate::attributes::Function;
use crate::handler::Handler;
use crate::kinds::{self, Kind};
use crate::parameters::Argument;

/// Rejects types that do not parse from a string. `subject` names the argument in the error message.
pub(crate) fn reject_list(argument: &Argument, subject: &str) -> Result<()> {
    let kind = Kind::of(&argument.owned);
    if matches!(kind, Kind::List | Kind::Map | Kind::Tuple) {
        let message = format!(
            "{subject} is one string, but `{}` is {}",
            argument.ident,
            kind.noun()
        );
        return Err(Error::new_spanned(&argument.owned, message));
    }
    Ok(())
}

/// Returns the binding of a value, and the statement that reads the value from `__arguments`.
pub(crate) fn read(argument: &Argument, index: usize) -> (TokenStream, TokenStream) {
    let value = format_ident!("__value_{index}");
    let name = &argument.name;
    let owned = &argument.owned;
    // With this span, an error about a type that does not parse from text points at the parameter's type.
    let span = owned.span();
    let source = match (kinds::option_inner(owned), &argument.default) {
        (Some(inner), None) => quote_spanned!(span=> __arguments.optional::<#inner>(#name)?),
        (Some(inner), Some(default)) => quote_spanned! {span=>
            match __arguments.optional::<#inner>(#name)? {
                ::core::option::Option::None => #default,
                __present => __present,
            }
        },
        (None, Some(default)) => quote_spanned! {span=>
            match __arguments.optional::<#owned>(#name)? {
                ::core::option::Option::Some(__present) => __present,
                ::core::option::Option::None => #default,
            }
        },
        (None, None) => quote_spanned!(span=> __arguments.required::<#owned>(#name)?),
    };
    (quote!(#value), quote!(let #value: #owned = #source;))
}

/// Returns the pattern for the arguments. It is `_` if there are no values.
pub(crate) fn arguments_binding(values: &[TokenStream]) -> TokenStream {
    if values.is_empty() {
        quote!(_)
    } else {
        quote!(#[allow(unused_mut)] mut __arguments)
    }
}

/// Returns the code that reads the values, calls the handler and converts the returned value.
pub(crate) fn respond(
    handler: &Handler,
    reads: &[TokenStream],
    values: &[TokenStream],
    conversion: &str,
    method: &str,
) -> TokenStream {
    let private = handler.crate_path.private();
    let conversion = format_ident!("{conversion}");
    let method = format_ident!("{method}");
    let call = handler.call(values);
    let convert =
        quote_spanned!(handler.output_span=> #private::#conversion::<_>::#method(__returned));
    quote! {
        #(#reads)*
        let __returned = #call;
        #convert
    }
}

/// Returns the `.with_completion(…)` call for `complete = function`.
///
/// The function maps the entered text to suggestions. A method is called on the shared handlers. The statement
/// `clone_handlers` clones the reference to them, and is empty for a free function.
pub(crate) fn take_completion(
    argument: &mut Argument,
    private: &TokenStream,
    clone_handlers: &TokenStream,
) -> Result<Option<TokenStream>> {
    let Some(function) = argument.entries.take_function("complete")? else {
        return Ok(None);
    };
    let inputs = quote!(_: #private::RequestContext, __request: #private::CompletionRequest);
    let completer = match function {
        Function::Path(path) => quote_spanned! {path.span()=>
            |#inputs| async move { #path(&__request.value) }
        },
        Function::Method(method) if clone_handlers.is_empty() => {
            let message = "a free function has no `self`: name a function, or use a method of a `#[server]` block";
            return Err(Error::new_spanned(method, message));
        }
        Function::Method(method) => quote_spanned! {method.span()=>
            {
                #clone_handlers
                move |#inputs| {
                    #clone_handlers
                    async move { Self::#method(&__handlers, &__request.value) }
                }
            }
        },
    };
    let name = &argument.name;
    Ok(Some(quote!(.with_completion(#name, #completer))))
}
