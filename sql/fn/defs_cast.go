package fn

func (r *Registry) addCasts() {}
