// Objects that live as long as a session: ResourceMgr, handles, and kernels that hold one.
#ifndef STILLFLOW_RESOURCE_H_
#define STILLFLOW_RESOURCE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <typeinfo>

#include "context.h"

namespace tensorflow {

class ResourceBase : public core::RefCounted {
 public:
  virtual string DebugString() const { return "a resource"; }
  virtual string DebugString() { return const_cast<const ResourceBase*>(this)->DebugString(); }
  virtual int64 MemoryUsed() const { return 0; }
};

// The name of a type, the same in every library that one compiler made.
template <typename T>
inline string TypeName() {
  return typeid(T).name();
}
template <typename T>
inline uint64 TypeCode() {
  return std::hash<string>()(TypeName<T>());
}

class ResourceMgr {
 public:
  ResourceMgr() {}
  explicit ResourceMgr(const string& container) : default_container_(container) {}
  ~ResourceMgr() { Clear(); }
  const string& default_container() const { return default_container_; }

  template <typename T>
  Status Create(const string& container, const string& name, T* resource) {
    std::lock_guard<std::mutex> held(mutex_);
    ResourceBase*& place = objects_[KeyOf<T>(container, name)];
    if (place != nullptr) {
      return errors::AlreadyExists("Resource ", container, "/", name, "/", TypeName<T>());
    }
    place = resource;
    return Status::OK();
  }
  template <typename T, bool unused = false>
  Status Lookup(const string& container, const string& name, T** resource) const {
    std::lock_guard<std::mutex> held(mutex_);
    return Find(container, name, resource);
  }
  template <typename T, bool unused = false>
  Status LookupOrCreate(const string& container, const string& name, T** resource,
                        std::function<Status(T**)> creator) {
    std::lock_guard<std::mutex> held(creating_);
    if (Lookup(container, name, resource).ok()) return Status::OK();
    TF_RETURN_IF_ERROR(creator(resource));
    TF_RETURN_IF_ERROR(Create(container, name, *resource));
    (*resource)->Ref();
    return Status::OK();
  }
  template <typename T>
  Status Delete(const string& container, const string& name) {
    return Remove(KeyOf<T>(container, name));
  }
  Status Delete(const ResourceHandle& handle) {
    return Remove(std::make_tuple(handle.container(), handle.maybe_type_name(), handle.name()));
  }
  Status Cleanup(const string& container) {
    std::lock_guard<std::mutex> held(mutex_);
    for (auto at = objects_.begin(); at != objects_.end();) {
      if (std::get<0>(at->first) != container) {
        ++at;
        continue;
      }
      at->second->Unref();
      at = objects_.erase(at);
    }
    return Status::OK();
  }
  void Clear() {
    for (const auto& object : objects_) object.second->Unref();
    objects_.clear();
  }
  string DebugString() const {
    string text;
    for (const auto& object : objects_)
      strings::StrAppend(&text, std::get<0>(object.first), " | ", std::get<2>(object.first), " | ",
                         object.second->DebugString(), "\n");
    return text;
  }

 private:
  using Key = std::tuple<string, string, string>;  // container, type, name
  template <typename T>
  static Key KeyOf(const string& container, const string& name) {
    return std::make_tuple(container, TypeName<T>(), name);
  }
  template <typename T>
  Status Find(const string& container, const string& name, T** resource) const {
    const auto found = objects_.find(KeyOf<T>(container, name));
    if (found == objects_.end()) {
      return errors::NotFound("Resource ", container, "/", name, "/", TypeName<T>(),
                              " does not exist.");
    }
    *resource = static_cast<T*>(found->second);
    (*resource)->Ref();
    return Status::OK();
  }
  Status Remove(const Key& key) {
    std::lock_guard<std::mutex> held(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) {
      return errors::NotFound("Resource ", std::get<0>(key), "/", std::get<2>(key), "/",
                              std::get<1>(key), " does not exist.");
    }
    found->second->Unref();
    objects_.erase(found);
    return Status::OK();
  }

  string default_container_ = "localhost";
  std::map<Key, ResourceBase*> objects_;
  mutable std::mutex mutex_;
  std::mutex creating_;
};

namespace internal {
static const bool sf_manager_is_known TF_ATTRIBUTE_UNUSED =
    (HowToManage() = {[] { return new ResourceMgr(); }, [](ResourceMgr* made) { delete made; }},
     true);
}  // namespace internal

template <typename T>
inline ResourceHandle MakeResourceHandle(OpKernelContext* context, const string& container,
                                         const string& name) {
  ResourceHandle handle;
  handle.set_device(context->device()->name());
  handle.set_container(container.empty() ? context->resource_manager()->default_container()
                                         : container);
  handle.set_name(name);
  handle.set_hash_code(TypeCode<T>());
  handle.set_maybe_type_name(TypeName<T>());
  return handle;
}
inline const ResourceHandle& HandleFromInput(OpKernelContext* context, int at) {
  return *context->input(at).base<ResourceHandle>();
}
inline Status HandleFromInput(OpKernelContext* context, StringPiece name,
                              ResourceHandle* handle) {
  const Tensor* tensor;
  TF_RETURN_IF_ERROR(context->input(name, &tensor));
  *handle = *tensor->base<ResourceHandle>();
  return Status::OK();
}

namespace internal {
template <typename T>
inline Status CheckHandle(const ResourceHandle& handle) {
  if (handle.hash_code() == TypeCode<T>()) return Status::OK();
  return errors::InvalidArgument(
      "Trying to access resource using the wrong type. Expected ", handle.maybe_type_name(),
      " got ", TypeName<T>());
}
}  // namespace internal

template <typename T>
inline Status LookupResource(OpKernelContext* context, const ResourceHandle& handle, T** value) {
  TF_RETURN_IF_ERROR(internal::CheckHandle<T>(handle));
  return context->resource_manager()->Lookup(handle.container(), handle.name(), value);
}
template <typename T>
inline Status LookupResource(OpKernelContext* context, const ResourceHandle& handle,
                             core::RefCountPtr<T>* value) {
  T* found = nullptr;
  TF_RETURN_IF_ERROR(LookupResource(context, handle, &found));
  value->reset(found);
  return Status::OK();
}
template <typename T>
inline Status CreateResource(OpKernelContext* context, const ResourceHandle& handle, T* value) {
  TF_RETURN_IF_ERROR(internal::CheckHandle<T>(handle));
  return context->resource_manager()->Create(handle.container(), handle.name(), value);
}
template <typename T>
inline Status LookupOrCreateResource(OpKernelContext* context, const ResourceHandle& handle,
                                     T** value, std::function<Status(T**)> creator) {
  TF_RETURN_IF_ERROR(internal::CheckHandle<T>(handle));
  return context->resource_manager()->LookupOrCreate(handle.container(), handle.name(), value,
                                                     creator);
}
template <typename T>
inline Status DeleteResource(OpKernelContext* context, const ResourceHandle& handle) {
  TF_RETURN_IF_ERROR(internal::CheckHandle<T>(handle));
  return context->resource_manager()->Delete(handle);
}
inline Status DeleteResource(OpKernelContext* context, const ResourceHandle& handle) {
  return context->resource_manager()->Delete(handle);
}

// The container and the name of an object, from the attributes of the node that makes it.
class ContainerInfo {
 public:
  SF_LOCAL Status Init(ResourceMgr* manager, const NodeDef& node,
                       bool use_node_name_as_default) {
    manager_ = manager;
    string container, shared;
    TF_RETURN_IF_ERROR(GetNodeAttr(node, "container", &container));
    TF_RETURN_IF_ERROR(GetNodeAttr(node, "shared_name", &shared));
    container_ = container.empty() ? manager->default_container() : container;
    is_private_ = shared.empty() && !use_node_name_as_default;
    static std::atomic<int64> count(0);
    name_ = !shared.empty()            ? shared
            : use_node_name_as_default ? node.name()
                                       : strings::StrCat("_", count++, "_", node.name());
    return Status::OK();
  }
  Status Init(ResourceMgr* manager, const NodeDef& node) { return Init(manager, node, false); }
  ResourceMgr* resource_manager() const { return manager_; }
  const string& container() const { return container_; }
  const string& name() const { return name_; }
  bool resource_is_private_to_kernel() const { return is_private_; }
  string DebugString() const { return strings::StrCat("[", container_, ",", name_, "]"); }

 private:
  ResourceMgr* manager_ = nullptr;
  string container_, name_;
  bool is_private_ = false;
};

// A kernel that makes an object at its first run and gives its handle.
template <typename T>
class ResourceOpKernel : public OpKernel {
 public:
  explicit ResourceOpKernel(OpKernelConstruction* context) : OpKernel(context) {}
  ~ResourceOpKernel() override {
    if (resource_ == nullptr) return;
    resource_->Unref();
    if (cinfo_.resource_is_private_to_kernel()) {
      cinfo_.resource_manager()
          ->template Delete<T>(cinfo_.container(), cinfo_.name())
          .IgnoreError();
    }
  }

  void Compute(OpKernelContext* context) override {
    mutex_lock held(mu_);
    if (resource_ == nullptr) {
      OP_REQUIRES_OK(context, cinfo_.Init(context->resource_manager(), def(), true));
      T* resource = nullptr;
      OP_REQUIRES_OK(context, context->resource_manager()->template LookupOrCreate<T>(
                                  cinfo_.container(), cinfo_.name(), &resource,
                                  [this](T** made) { return CreateResource(made); }));
      const Status status = VerifyResource(resource);
      if (!status.ok()) {
        resource->Unref();
        context->SetStatus(status);
        return;
      }
      resource_ = resource;
    }
    Tensor* output = nullptr;
    if (context->expected_output_dtype(0) == DT_RESOURCE) {
      OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &output));
      *output->base<ResourceHandle>() =
          MakeResourceHandle<T>(context, cinfo_.container(), cinfo_.name());
    } else {
      OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({2}), &output));
      output->base<string>()[0] = cinfo_.container();
      output->base<string>()[1] = cinfo_.name();
    }
  }

 protected:
  mutex mu_;
  ContainerInfo cinfo_;
  T* resource_ = nullptr;

 private:
  virtual Status CreateResource(T** resource) = 0;
  virtual Status VerifyResource(T*) { return Status::OK(); }
};

// The handle of an object by its name; other kernels make the object.
template <typename T>
class ResourceHandleOp : public OpKernel {
 public:
  explicit ResourceHandleOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("container", &container_));
    OP_REQUIRES_OK(context, context->GetAttr("shared_name", &name_));
  }
  void Compute(OpKernelContext* context) override {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &output));
    *output->base<ResourceHandle>() =
        MakeResourceHandle<T>(context, container_, name_.empty() ? name() : name_);
  }

 private:
  string container_, name_;
};

template <typename T>
class IsResourceInitialized : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &output));
    T* found = nullptr;
    const bool there = LookupResource(context, HandleFromInput(context, 0), &found).ok();
    if (there) found->Unref();
    *output->base<bool>() = there;
  }
};

#define REGISTER_RESOURCE_HANDLE_OP(Type)                 \
  REGISTER_OP(#Type "HandleOp")                           \
      .Attr("container: string = ''")                     \
      .Attr("shared_name: string = ''")                   \
      .Output("resource: resource")                       \
      .SetIsStateful()                                    \
      .SetShapeFn(::tensorflow::shape_inference::ScalarShape)
#define REGISTER_RESOURCE_HANDLE_KERNEL(Type)                          \
  REGISTER_KERNEL_BUILDER(Name(#Type "HandleOp").Device(DEVICE_CPU),   \
                          ::tensorflow::ResourceHandleOp<Type>)

}  // namespace tensorflow

#endif  // STILLFLOW_RESOURCE_H_
